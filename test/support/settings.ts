import { setImmediate } from 'node:timers/promises'
import * as z from 'zod'
import { OpenHandsAgentSettings } from '../../src/api/agent.ts'
import { Fault, fault } from '../../src/api/errors.ts'
import { unwrap } from '../../src/api/secret.ts'
import { Settings, SettingsUpdateRequest } from '../../src/api/settings.ts'
import { Vault } from '../../src/policy/secrets.ts'
import { SettingsService } from '../../src/settings/settings.ts'
import type { Store } from '../../src/store/store.ts'

export const vault = new Vault('a secret key for tests')

export interface Memory extends Store {
  documents: Map<string, { version: number; json: string }>
}

/** Documents only, with a turn of the event loop in every call, so that callers interleave. */
export function memoryStore(from?: Memory): Memory {
  const documents: Memory['documents'] = new Map(from?.documents)
  const store: Pick<Memory, 'documents' | 'readDocument' | 'writeDocument'> = {
    documents,
    async readDocument(name) {
      await setImmediate()
      return documents.get(name) ?? { version: 0, json: undefined }
    },
    async writeDocument(name, json, version) {
      await setImmediate()
      if ((documents.get(name)?.version ?? 0) !== version) throw fault('conflict', name)
      documents.set(name, { version: version + 1, json })
    },
  }
  return store as Memory
}

/** A service over its own copy of what `from` holds, spoken to as the HTTP layer does: bodies are parsed first. */
export function open(from?: Memory) {
  const store = memoryStore(from)
  const service = new SettingsService(store, vault)
  return {
    store,
    service,
    post: async (body: unknown) => service.store(parsed(Settings, body)),
    patch: async (body: unknown) => service.update(parsed(SettingsUpdateRequest, body)),
    /** What is stored, by path, secrets opened. */
    leaves: () => flatten(JSON.parse(store.documents.get('settings')?.json ?? '{}')),
  }
}

export function parsed<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body)
  if (!result.success) throw fault('invalid_request', result.error.issues[0]!.message)
  return result.data
}

export const isRefusal = (error: unknown): boolean => error instanceof Fault && error.code === 'invalid_request'

/** Lists are leaves, as JSON; so are empty maps. */
export function flatten(value: unknown, prefix = ''): Map<string, unknown> {
  if (typeof value === 'string') return new Map([[prefix, opened(value)]])
  if (Array.isArray(value)) return new Map([[prefix, JSON.stringify(value)]])
  if (typeof value !== 'object' || value === null) return new Map([[prefix, value]])
  const entries = Object.entries(value)
  if (entries.length === 0) return new Map()
  return new Map(entries.flatMap(([key, item]) => [...flatten(item, prefix === '' ? key : `${prefix}.${key}`)]))
}

const opened = (text: string) => (text.startsWith('sealed:') ? vault.open(text) : text)

/** The paths in which two states differ. */
export function differences(before: Map<string, unknown>, after: Map<string, unknown>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter(path => before.get(path) !== after.get(path)).sort()
}

export type Kind = 'text' | 'secret' | 'choice' | 'integer' | 'number' | 'flag' | 'list' | 'map'
export interface Leaf {
  path: string
  kind: Kind
  /** Two different values. */
  values: [unknown, unknown]
}

/** `{ a: { b: value } }` for `a.b`; nothing for undefined. */
export function nested(path: string, value: unknown): Record<string, unknown> {
  if (value === undefined) return {}
  const [key, ...rest] = path.split('.')
  return { [key!]: rest.length === 0 ? value : nested(rest.join('.'), value) }
}

const objects: Record<string, [unknown, unknown]> = {
  tools: [[{ name: 'one', params: {} }], [{ name: 'two', params: {} }]],
  'agent_context.skills': [[{ name: 'one', content: '1' }], []],
  'agent_context.registered_marketplaces': [[{ name: 'one', source: '1' }], []],
}

/** Not leaves of their own: they follow from others or turn the object into another one. Servers have their own table. */
const APART =
  /^(agent_kind|llm\.is_subscription|llm\.fallback_strategy|condenser\.condenser_kind|agent_context\.current_datetime|mcp_config)/

/** Every leaf of the agent settings. */
export const agentLeaves = (): Leaf[] => leavesOf(OpenHandsAgentSettings, '').filter(({ path }) => !APART.test(path))

export const flatLeaves = (): Leaf[] =>
  leavesOf(Settings, '').filter(({ path }) => !/^(secrets_store|mcp_config)/.test(path))

function leavesOf(schema: z.core.$ZodType, path: string): Leaf[] {
  const def = (unwrap(schema) as z.core.$ZodTypes)._zod.def
  const leaf = (kind: Kind, a: unknown, b: unknown): Leaf[] => [{ path, kind, values: objects[path] ?? [a, b] }]
  if (def.type === 'union') return leavesOf(def.options[0]!, path)
  if (def.type === 'object')
    return Object.entries(def.shape).flatMap(([key, field]) => leavesOf(field, path === '' ? key : `${path}.${key}`))
  if (def.type === 'boolean') return leaf('flag', true, false)
  if (def.type === 'number') return 'format' in def ? leaf('integer', 21, 22) : leaf('number', 0.25, 0.5)
  if (def.type === 'enum') return leaf('choice', Object.values(def.entries)[0], Object.values(def.entries)[1])
  if (def.type === 'literal') return leaf('choice', def.values[0], def.values[0])
  if (def.type === 'array') return leaf('list', ['one'], ['two'])
  if (def.type === 'record') return leaf('map', { one: '1' }, { one: '2' })
  const isSecret = z.globalRegistry.get(unwrap(schema))?.format === 'password'
  return isSecret ? leaf('secret', `canary one ${path}`, `canary two ${path}`) : leaf('text', 'one', 'two')
}
