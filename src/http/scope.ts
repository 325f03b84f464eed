import { fault } from '../api/errors.ts'

/** Everything about one sandbox is also served below its own path, as if it were a server. */
export function withoutSandbox(path: string): { prefix: string; path: string; sandbox: string | undefined } {
  const [prefix, sandbox] = /^\/sandboxes\/([a-z0-9]+)(?=\/)/.exec(path) ?? []
  return prefix === undefined
    ? { prefix: '', path, sandbox: undefined }
    : { prefix, path: path.slice(prefix.length), sandbox }
}

/** What a caller is confined to: by the path they ask for, by the key they bring, and by both only if these agree. */
export function confine(
  { path, key }: { path: string | undefined; key: string | undefined },
  exists: (id: string) => boolean,
): string | undefined {
  if (path !== undefined && key !== undefined && path !== key)
    throw fault('forbidden', 'Session API key does not match sandbox')
  const scope = path ?? key
  if (scope !== undefined && !exists(scope)) throw fault('sandbox_not_found')
  return scope
}
