import { createRequire } from 'node:module'

// The published client finds a WebSocket in Node only through a global `require`.
Object.assign(globalThis, { require: createRequire(import.meta.url) })
const published = {
  ...(await import('@openhands/typescript-client')),
  ...(await import('@openhands/typescript-client/clients')),
  ...(await import('@openhands/typescript-client/client/device-flow-client')),
}

type Class = { prototype: Record<string, (...args: unknown[]) => unknown> }
const isClass = (value: unknown): value is Class => typeof value === 'function' && /^class\b/.test(String(value))
const methodsOf = ({ prototype }: Class): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name)

/** All that the package exports: classes with their methods, and what is no class with none. */
export const exported = (): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(published)
      .filter(([name]) => name !== 'default')
      .map(([name, value]) => [name, isClass(value) ? methodsOf(value) : []]),
  )

/** The published client, and which of its functions and methods (`Class.method`) have been called. Once in a process. */
export function watched(): { npm: typeof published; called: ReadonlySet<string> } {
  const called = new Set<string>()
  const watch = (name: string, call: (...args: unknown[]) => unknown) =>
    function (this: unknown, ...args: unknown[]) {
      called.add(name)
      return call.apply(this, args)
    }
  const npm: Record<string, unknown> = { ...published }
  for (const [name, value] of Object.entries(published))
    if (isClass(value))
      for (const method of methodsOf(value))
        value.prototype[method] = watch(`${name}.${method}`, value.prototype[method]!)
    else if (typeof value === 'function') npm[name] = watch(name, value as () => unknown)
  return { npm: npm as typeof published, called }
}
