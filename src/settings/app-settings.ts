import { AppSettings, type AppSettingsChange, type AppSettingsResponse } from '../api/app-settings.ts'
import type { Vault } from '../policy/secrets.ts'
import { mergeNested } from './changes.ts'
import { fullSettings, type SettingsDocument } from './document.ts'
import { type FlatField, writeFlat } from './mapping.ts'
import { flatChange, type Plain, unmask } from './merge.ts'
import { getIn, removeIn } from './paths.ts'
import { settingsResponse } from './view.ts'

/** The settings as the app server's generation says them: the same document, most of it nested. */
export function applyApp(document: SettingsDocument, change: AppSettingsChange): SettingsDocument {
  const { agent_settings_diff, conversation_settings_diff: conversation, active_agent_profile_id, ...fields } = change
  let next = document
  for (const [field, value] of Object.entries(fields)) {
    const asked = flatChange(field, value)
    if (asked !== 'keep') next = write(next, field, asked === 'reset' ? undefined : asked.value)
  }
  if (active_agent_profile_id !== undefined) next = { ...next, active_agent_profile_id }
  const agent = agent_settings_diff && unmask<Plain>(keepingKey(agent_settings_diff), next.agent_settings)
  // A server that is not among those sent is one that somebody deleted.
  if (agent && 'mcp_config' in agent) next = { ...next, agent_settings: removeIn(next.agent_settings, ['mcp_config']) }
  return mergeNested(next, { agent, conversation })
}

function write(document: SettingsDocument, field: string, value: unknown): SettingsDocument {
  if (!Object.hasOwn(AppSettings.shape, field)) return writeFlat(document, field as FlatField, value)
  const { [field]: _, ...others } = document.app
  return { ...document, app: value === undefined ? others : { ...others, [field]: value } }
}

/** The key is shown as null. Sent back with the rest, it means "unchanged" as the mask does. */
const keepingKey = (diff: Plain): Plain =>
  getIn(diff, ['llm', 'api_key']) === null ? removeIn(diff, ['llm', 'api_key']) : diff

export function appSettingsResponse(
  document: SettingsDocument,
  vault: Vault,
): Omit<AppSettingsResponse, 'llm_profiles'> {
  const { agent_settings, ...shown } = settingsResponse(document, vault, 'masked')
  return {
    language: shown.language,
    remote_runtime_resource_factor: shown.remote_runtime_resource_factor,
    enable_sound_notifications: shown.enable_sound_notifications,
    enable_proactive_conversation_starters: shown.enable_proactive_conversation_starters,
    user_consents_to_analytics: shown.user_consents_to_analytics,
    sandbox_base_container_image: shown.sandbox_base_container_image,
    sandbox_runtime_container_image: shown.sandbox_runtime_container_image,
    search_api_key: null,
    sandbox_api_key: null,
    max_budget_per_task: shown.max_budget_per_task,
    email: shown.email,
    email_verified: shown.email_verified,
    git_user_name: shown.git_user_name,
    git_user_email: shown.git_user_email,
    ...fullSettings(document).app,
    user_version: null,
    v1_enabled: true,
    active_agent_profile_revision: null,
    inherited_marketplaces: [],
    secrets_store: { provider_tokens: {}, custom_secrets: {} },
    agent_settings: { ...agent_settings, llm: { ...agent_settings.llm, api_key: null } },
    conversation_settings: shown.conversation_settings,
    active_agent_profile_id: shown.active_agent_profile_id,
    provider_tokens_set: shown.provider_tokens_set,
    llm_api_key_set: shown.llm_api_key_set,
    search_api_key_set: shown.search_api_key_set,
  }
}
