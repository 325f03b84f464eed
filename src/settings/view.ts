import { AgentSettings } from '../api/agent.ts'
import { fault } from '../api/errors.ts'
import { MASK, mapSecrets } from '../api/secret.ts'
import type { SettingsResponse } from '../api/settings.ts'
import type { Vault } from '../policy/secrets.ts'
import { fullSettings, type SettingsDocument } from './document.ts'
import { readFlat } from './mapping.ts'
import { hasKey } from './profile-built-in.ts'

export type Exposure = 'masked' | 'encrypted' | 'plaintext'

/** From the header `X-Expose-Secrets`; `true` is an older name for `encrypted`. */
export function exposureOf(header: string | undefined): Exposure {
  if (header === undefined) return 'masked'
  if (header === 'encrypted' || header === 'true') return 'encrypted'
  if (header === 'plaintext') return 'plaintext'
  throw fault('bad_request', 'X-Expose-Secrets must be "encrypted" or "plaintext"')
}

/** How a sealed secret is shown. */
export function shown(vault: Vault, exposure: Exposure): (sealed: string) => string {
  if (exposure === 'plaintext') return sealed => vault.open(sealed)
  if (exposure === 'encrypted') return sealed => vault.toToken(vault.open(sealed))
  return () => MASK
}

export function settingsResponse(document: SettingsDocument, vault: Vault, exposure: Exposure): SettingsResponse {
  const full = fullSettings(document)
  const llmKeyIsSet = hasKey(full.agent_settings.llm)
  const tokens = Object.entries(full.provider_tokens)
  return {
    ...readFlat(document),
    llm_api_key_set: llmKeyIsSet,
    search_api_key_set: !!full.flat.search_api_key,
    provider_tokens_set: Object.fromEntries(tokens.map(([provider, { host }]) => [provider, host ?? null])),
    agent_settings: presentable(mapSecrets(AgentSettings, full.agent_settings, shown(vault, exposure))),
    conversation_settings: full.conversation_settings,
    llm_api_key_is_set: llmKeyIsSet,
    active_profile: full.active_profile,
    active_agent_profile_id: full.active_agent_profile_id,
    misc_settings: full.misc_settings,
  }
}

/** Two fields are taken but never shown. */
export function presentable(settings: AgentSettings): AgentSettings {
  const { fallback_strategy: _, ...llm } = settings.llm
  if (!settings.agent_context) return { ...settings, llm }
  const { memory_context: __, ...agent_context } = settings.agent_context
  return { ...settings, llm, agent_context }
}
