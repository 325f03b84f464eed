import * as z from 'zod'
import { AgentSettings, ConversationSettings } from './agent.ts'
import { nullishText, orNull, textOrNull } from './common.ts'
import { LLM } from './llm.ts'
import { Settings, SettingsResponse, SettingsUpdateRequest } from './settings.ts'
import { MarketplaceRegistration } from './skills.ts'

/** Which of the sandboxes that run already takes a new conversation. */
export const SandboxGroupingStrategy = z
  .enum(['NO_GROUPING', 'GROUP_BY_NEWEST', 'LEAST_RECENTLY_USED', 'FEWEST_CONVERSATIONS', 'ADD_TO_ANY'])
  .meta({ id: 'SandboxGroupingStrategy' })
export type SandboxGroupingStrategy = z.output<typeof SandboxGroupingStrategy>

/** How app conversations are started. */
export const AppSettings = z
  .object({
    sandbox_grouping_strategy: SandboxGroupingStrategy.default('NO_GROUPING'),
    default_sandbox_spec_id: textOrNull,
    disabled_skills: orNull(z.array(z.string())),
    git_full_clone: z.boolean().default(false),
    title_llm_profile: textOrNull,
    registered_marketplaces: z.array(MarketplaceRegistration).default([]),
  })
  .meta({ id: 'AppSettings' })
export type AppSettings = z.output<typeof AppSettings>

/** What this generation still says flat. The others of the flat settings it says nested, and ignores. */
const Flat = Settings.pick({
  language: true,
  remote_runtime_resource_factor: true,
  enable_sound_notifications: true,
  enable_proactive_conversation_starters: true,
  user_consents_to_analytics: true,
  sandbox_base_container_image: true,
  sandbox_runtime_container_image: true,
  search_api_key: true,
  sandbox_api_key: true,
  max_budget_per_task: true,
  email: true,
  email_verified: true,
  git_user_name: true,
  git_user_email: true,
})

/** These are refused, not ignored: a client that sends them believes that it replaces all there is. */
export const LEGACY_KEYS = ['agent_settings', 'conversation_settings'] as const

const { conversation_settings_diff, active_agent_profile_id } = SettingsUpdateRequest.shape

/** What is left out is kept. What null and empty values mean: settings/merge.ts. */
export const StoreAppSettingsRequest = z
  .object({
    ...Flat.shape,
    sandbox_grouping_strategy: SandboxGroupingStrategy.nullish(),
    default_sandbox_spec_id: nullishText,
    disabled_skills: z.array(z.string()).nullish(),
    git_full_clone: z.boolean().nullish(),
    title_llm_profile: nullishText,
    registered_marketplaces: z.array(MarketplaceRegistration).nullish(),
    agent_settings_diff: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({ description: 'Merged into what is stored; `mcp_config` replaces it' }),
    conversation_settings_diff,
    active_agent_profile_id,
    agent_settings: z.unknown().optional().meta({ deprecated: true }),
    conversation_settings: z.unknown().optional().meta({ deprecated: true }),
  })
  .meta({ id: 'StoreAppSettingsRequest' })
export type AppSettingsChange = Omit<z.output<typeof StoreAppSettingsRequest>, (typeof LEGACY_KEYS)[number]>

export const LegacyKeysResponse = z
  .object({ detail: z.string(), error: z.string(), keys: z.array(z.enum(LEGACY_KEYS)) })
  .meta({ id: 'LegacyKeysResponse' })

const LLMProfiles = z
  .object({ profiles: z.record(z.string(), LLM), active: z.string().nullable() })
  .meta({ id: 'LLMProfiles' })
export type LLMProfiles = z.output<typeof LLMProfiles>

const { llm_api_key_set, search_api_key_set, provider_tokens_set } = SettingsResponse.shape

export const AppSettingsResponse = z
  .object({
    ...Flat.shape,
    ...AppSettings.shape,
    // Of hosted installations: always the same here, but clients expect them.
    user_version: z.null(),
    v1_enabled: z.literal(true),
    active_agent_profile_revision: z.null(),
    inherited_marketplaces: z.array(MarketplaceRegistration),
    secrets_store: z.object({ provider_tokens: z.object(), custom_secrets: z.object() }),
    agent_settings: AgentSettings,
    conversation_settings: ConversationSettings,
    llm_profiles: LLMProfiles,
    active_agent_profile_id: z.string().nullable(),
    provider_tokens_set,
    llm_api_key_set,
    search_api_key_set,
  })
  .meta({ id: 'AppSettingsResponse' })
export type AppSettingsResponse = z.output<typeof AppSettingsResponse>

export const TestMcpServerRequest = z
  .strictObject({ timeout: z.number().gt(0).max(30).default(15).meta({ description: 'In seconds' }) })
  .meta({ id: 'TestMcpServerRequest' })

export const TestMcpServerResponse = z.object({ ok: z.boolean() }).meta({ id: 'TestMcpServerResponse' })
