import type { AppSettings } from '../api/app-settings.ts'
import { fault } from '../api/errors.ts'
import { MASK } from '../api/secret.ts'
import type { Settings } from '../api/settings.ts'

/**
 * What a client's value means. What it does not send is never lost.
 *
 * |        | flat POST                                | PATCH agent_settings_diff | PATCH conversation, misc diff     |
 * |--------|------------------------------------------|---------------------------|-----------------------------------|
 * | absent | kept                                     | kept                      | kept                              |
 * | null   | kept for secrets and `KEPT_WHEN_NULL`,   | removed: back to the      | at the top a value like any other |
 * |        | else back to the default                 | default, at any level     | (and checked), below it removed   |
 * | ""     | clears a secret and `llm_base_url`,      | clears a secret,          | a value                           |
 * |        | else a value                             | else a value              |                                   |
 * | mask   | kept, wherever it stands                 | kept                      | kept                              |
 * | object | see mapping.ts                           | merged                    | merged                            |
 * | list   | see mcp-lists.ts                         | replaced                  | replaced                          |
 *
 * A POST of the app server's generation has both: flat fields, and diffs as in a PATCH; for its servers see app-settings.ts.
 */
export type Plain = Record<string, unknown>

export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === ''

export const SECRET_FIELDS: ReadonlySet<string> = new Set<keyof Settings>([
  'llm_api_key',
  'search_api_key',
  'sandbox_api_key',
])
const KEPT_WHEN_NULL: ReadonlySet<string> = new Set<keyof Settings | keyof AppSettings>([
  'llm_model',
  'llm_base_url',
  'user_consents_to_analytics',
  'disabled_skills',
])

/** What one field of a flat POST asks for: nothing, the default, or this value. */
export function flatChange(field: string, value: unknown): 'keep' | 'reset' | { value: unknown } {
  if (value === undefined || value === MASK) return 'keep'
  if (value === null) return SECRET_FIELDS.has(field) || KEPT_WHEN_NULL.has(field) ? 'keep' : 'reset'
  if (isBlank(value) && (SECRET_FIELDS.has(field) || field === 'llm_base_url')) return 'reset'
  return { value }
}

/** RFC 7386. Built from entries, so that a key named `__proto__` is only a key. */
export function mergePatch(base: unknown, patch: Plain): Plain {
  const merged = new Map(isPlain(base) ? Object.entries(base) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, isPlain(value) ? mergePatch(merged.get(key), value) : value)
  }
  return Object.fromEntries(merged)
}

export function mergeDeep(base: Plain, diff: Plain): Plain {
  const nulls = Object.entries(diff).filter(([, value]) => value === null)
  return Object.fromEntries([...Object.entries(mergePatch(base, diff)), ...nulls])
}

/**
 * A copy of `value` with every mask replaced by what `known` has in its place, or gone where there is nothing.
 * Items of a list are paired by name, never by position: a secret must not move to its neighbour.
 */
export function unmask<T>(value: T, known: unknown): T
export function unmask(value: unknown, known: unknown): unknown {
  return reveal(value, known, 0)
}

function reveal(value: unknown, known: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw fault('invalid_request', `Settings are nested deeper than ${MAX_DEPTH} levels`)
  if (value === MASK) return known
  if (Array.isArray(value)) {
    const old = Array.isArray(known) ? known : []
    return value.map(item => reveal(item, counterpart(old, item), depth + 1)).filter(item => item !== undefined)
  }
  if (!isPlain(value)) return value
  const old = new Map(isPlain(known) ? Object.entries(known) : [])
  const entries = Object.entries(value).map(([key, item]) => [key, reveal(item, old.get(key), depth + 1)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}

const MAX_DEPTH = 64

const counterpart = (old: unknown[], item: unknown): unknown =>
  isPlain(item) ? old.find(other => isPlain(other) && other.name !== undefined && other.name === item.name) : undefined

/** The part of `full` that `sparse` speaks of: what was said, in its parsed form, without defaults and unknown keys. */
export function pick(full: unknown, sparse: unknown): unknown {
  if (!isPlain(full) || !isPlain(sparse)) return full
  const said = Object.keys(sparse).filter(key => Object.hasOwn(full, key))
  return Object.fromEntries(said.map(key => [key, pick(full[key], sparse[key])]))
}
