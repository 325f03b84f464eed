import { isPlain, type Plain } from './merge.ts'

export type Path = readonly string[]

export const getIn = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, key) => (isPlain(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)

export const hasIn = (value: unknown, path: Path): boolean => {
  const parent = getIn(value, path.slice(0, -1))
  return isPlain(parent) && Object.hasOwn(parent, path.at(-1)!)
}

export function setIn(value: Plain, [key, ...rest]: Path, leaf: unknown): Plain {
  if (key === undefined) return value
  const inner = value[key]
  return { ...value, [key]: rest.length === 0 ? leaf : setIn(isPlain(inner) ? inner : {}, rest, leaf) }
}

export function removeIn(value: Plain, path: Path): Plain {
  if (!hasIn(value, path)) return value
  const [key, ...rest] = path as [string, ...string[]]
  const { [key]: inner, ...others } = value
  return rest.length === 0 ? others : { ...value, [key]: removeIn(inner as Plain, rest) }
}
