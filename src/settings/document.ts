import * as z from 'zod'
import { AgentSettings, ConversationSettings } from '../api/agent.ts'
import { AppSettings } from '../api/app-settings.ts'
import { fault } from '../api/errors.ts'
import { mapSecrets } from '../api/secret.ts'
import { Settings } from '../api/settings.ts'
import { ProviderTokens } from '../api/user-secrets.ts'
import type { Vault } from '../policy/secrets.ts'
import { type Plain, pick } from './merge.ts'
import { hasIn, setIn } from './paths.ts'
import { DEMO_MODEL } from './profile-built-in.ts'

const Document = z.object({
  agent_settings: AgentSettings,
  conversation_settings: ConversationSettings,
  misc_settings: z.record(z.string(), z.unknown()),
  flat: Settings,
  app: AppSettings,
  provider_tokens: ProviderTokens,
  active_profile: z.string().nullable(),
  active_agent_profile_id: z.string().nullable(),
})
export type FullSettings = z.output<typeof Document>

/**
 * What is stored, for both generations: only what somebody said, so that a default is never frozen. Secrets are sealed.
 * A setting that both know is stored once, in its nested place; `flat` holds what has none (see mapping.ts).
 */
export interface SettingsDocument {
  agent_settings: Plain
  conversation_settings: Plain
  misc_settings: Plain
  flat: Plain
  app: Plain
  provider_tokens: ProviderTokens
  active_profile: string | null
  active_agent_profile_id: string | null
}

export const NOTHING_SAID: SettingsDocument = {
  agent_settings: {},
  conversation_settings: {},
  misc_settings: {},
  flat: {},
  app: {},
  provider_tokens: {},
  active_profile: null,
  active_agent_profile_id: null,
}

/** Until somebody names a model, or a way to one, it is the guide that needs no key. Never stored, so never frozen. */
const guided = (stored: SettingsDocument): SettingsDocument =>
  stored.agent_settings.agent_kind === 'acp' ||
  ['model', 'api_key', 'provider_connection_id', 'base_url'].some(key => hasIn(stored.agent_settings, ['llm', key]))
    ? stored
    : { ...stored, agent_settings: setIn(stored.agent_settings, ['llm', 'model'], DEMO_MODEL) }

/** With all defaults. */
export function fullSettings(stored: SettingsDocument): FullSettings {
  const parsed = Document.safeParse(guided(stored))
  if (!parsed.success) throw fault('record_damaged', 'The settings document')
  return parsed.data
}

/**
 * `changed` as it may be stored: checked, without what the schemas do not know, and with every secret sealed that is
 * not sealed in `previous` (or among `sealed`) already. A sealed text is random and never shown, so none can be forged.
 */
export function storable(
  changed: SettingsDocument,
  previous: SettingsDocument,
  vault: Vault,
  sealed: readonly string[] = [],
): SettingsDocument {
  const parsed = Document.safeParse(changed)
  if (!parsed.success) throw fault('invalid_request', `Settings validation failed: ${where(parsed.error)}`)
  const known = new Set([...secretsOf(Document, previous), ...sealed])
  const cleared: (string | number)[][] = []
  const result = mapSecrets(Document, pick(parsed.data, changed) as SettingsDocument, (value, path) => {
    if (known.has(value)) return value
    const secret = vault.sealOne(value)
    if (secret === undefined) cleared.push(path)
    return secret
  })
  for (const path of cleared) deleteAt(result, path)
  return result
}

export function secretsOf(schema: z.ZodType, value: unknown): string[] {
  const found: string[] = []
  mapSecrets(schema, value, secret => {
    found.push(secret)
    return secret
  })
  return found
}

function deleteAt(value: object, path: (string | number)[]): void {
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Plain | undefined)?.[key], value)
  if (parent) delete (parent as Plain)[path.at(-1)!]
}

/** The first complaint, with its place. Zod's messages never quote the input, which may be a secret. */
function where(error: z.ZodError): string {
  const { path, message } = error.issues[0]!
  return `${path.join('.')}: ${message}`
}
