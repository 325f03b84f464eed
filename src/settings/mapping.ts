import * as z from 'zod'
import { AgentSettings, ConversationSettings } from '../api/agent.ts'
import { Settings } from '../api/settings.ts'
import type { SettingsDocument } from './document.ts'
import { type Servers, toLists } from './mcp-lists.ts'
import { SECRET_FIELDS } from './merge.ts'
import { getIn, hasIn, removeIn, setIn } from './paths.ts'

type Section = 'agent_settings' | 'conversation_settings'

/** Where the nested settings keep what the flat ones call by another name. For `mcp_config` see mcp-lists.ts. */
export const NESTED: Readonly<Partial<Record<keyof Settings, readonly [Section, ...string[]]>>> = {
  agent: ['agent_settings', 'agent'],
  llm_model: ['agent_settings', 'llm', 'model'],
  llm_api_key: ['agent_settings', 'llm', 'api_key'],
  llm_base_url: ['agent_settings', 'llm', 'base_url'],
  enable_default_condenser: ['agent_settings', 'condenser', 'enabled'],
  max_iterations: ['conversation_settings', 'max_iterations'],
  confirmation_mode: ['conversation_settings', 'confirmation_mode'],
  security_analyzer: ['conversation_settings', 'security_analyzer'],
}

export type FlatField = keyof Settings
export const flatFields = Object.keys(Settings.shape) as FlatField[]

/**
 * Stores one flat setting; undefined goes back to the default. What the nested settings cannot say (another security
 * analyzer, 0 iterations for "no limit of mine", an agent class for a kind of agent that has none) stays in the flat
 * part, and they read their default: for the analyzer that is `llm`, the safe reading.
 */
export function writeFlat(document: SettingsDocument, field: FlatField, value: unknown): SettingsDocument {
  const flat = removeIn(document.flat, [field])
  const place = NESTED[field]
  if (!place) return { ...document, flat: value === undefined ? flat : { ...flat, [field]: value } }
  const [section, ...path] = place
  if (value !== undefined && canSay(section, document[section], path, value))
    return { ...document, flat, [section]: setIn(document[section], path, value) }
  const without = { ...document, [section]: removeIn(document[section], path) }
  return { ...without, flat: value === undefined ? flat : { ...flat, [field]: value } }
}

function canSay(section: Section, settings: Record<string, unknown>, path: string[], value: unknown): boolean {
  const schema: z.ZodType = section === 'agent_settings' ? AgentSettings : ConversationSettings
  const parsed = z.safeParse(schema, setIn(settings, path, value))
  return parsed.success && getIn(parsed.data, path) === value
}

/** After a change to the nested settings: what they say themselves counts, what they have room for now moves in. */
export function settleFlat(document: SettingsDocument): SettingsDocument {
  let next = document
  for (const field of flatFields) {
    const place = NESTED[field]
    if (!place || !(field in next.flat)) continue
    if (hasIn(next, place)) next = { ...next, flat: removeIn(next.flat, [field]) }
    else next = writeFlat(next, field, next.flat[field])
  }
  return next
}

/** Null or the default where nobody said anything. Secrets are never shown here. */
export function readFlat(document: SettingsDocument): Settings {
  const entries = flatFields.map(field => [field, flatValue(document, field)])
  return Object.fromEntries(entries)
}

function flatValue(document: SettingsDocument, field: FlatField): unknown {
  if (field === 'mcp_config') return toLists((document.agent_settings.mcp_config ?? {}) as Servers)
  if (field === 'secrets_store') return { provider_tokens: {}, custom_secrets: {} }
  if (SECRET_FIELDS.has(field)) return null
  const place = NESTED[field]
  const said = place && hasIn(document, place) ? getIn(document, place) : document.flat[field]
  return said ?? z.globalRegistry.get(Settings.shape[field])?.default ?? null
}
