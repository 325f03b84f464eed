/** Levels of nesting in a document: far past any honest one, far short of what exhausts the stack of whoever walks it. */
export const NESTING = 200

/** Level by level, so that it needs no stack itself. */
export function isDeeper(value: unknown, limit: number): boolean {
  let level = [value].filter(isObject)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true
    level = level.flatMap(item => Object.values(item).filter(isObject))
  }
  return false
}

const isObject = (value: unknown): value is object => value !== null && typeof value === 'object'
