import * as z from 'zod'
import { AgentSettings, ConversationSettings } from './agent.ts'
import { MCPServerPatch } from './mcp.ts'
import { MCPConfig } from './mcp-config.ts'
import { secret } from './secret.ts'
import { UserSecrets } from './user-secrets.ts'

const text = () => z.string().nullish()
const flag = () => z.boolean().nullish()
const integer = () => z.int().nullish()

/** The default is told, not filled in: what a client leaves out is kept. */
const flagOr = (value: boolean) => z.boolean().optional().meta({ default: value })

/** The flat generation's settings. What null, empty and masked values mean: settings/merge.ts. */
export const Settings = z
  .object({
    language: text(),
    agent: text(),
    max_iterations: integer(),
    security_analyzer: text(),
    confirmation_mode: flag(),
    llm_model: text(),
    llm_api_key: secret().nullish(),
    llm_base_url: text(),
    remote_runtime_resource_factor: integer(),
    secrets_store: UserSecrets.optional(),
    enable_default_condenser: flagOr(true),
    enable_sound_notifications: flagOr(false),
    enable_proactive_conversation_starters: flagOr(true),
    enable_solvability_analysis: flagOr(true),
    user_consents_to_analytics: flag(),
    sandbox_base_container_image: text(),
    sandbox_runtime_container_image: text(),
    mcp_config: MCPConfig.optional(),
    search_api_key: secret().nullish(),
    sandbox_api_key: secret().nullish(),
    max_budget_per_task: z.number().nullish(),
    email: text(),
    email_verified: flag(),
    git_user_name: text(),
    git_user_email: text(),
  })
  .meta({ id: 'Settings', description: 'Persisted settings for agent sessions' })
export type Settings = z.output<typeof Settings>

export const StoredResponse = z.object({ message: z.string() }).meta({ id: 'StoredResponse' })

/** One answer for both generations: the flat fields and the nested ones show the same store. */
export const SettingsResponse = z
  .object({
    ...Settings.shape,
    llm_api_key_set: z.boolean(),
    search_api_key_set: z.boolean(),
    provider_tokens_set: z.record(z.string(), z.string().nullable()).meta({ description: 'Host by provider' }),
    agent_settings: AgentSettings,
    conversation_settings: ConversationSettings,
    llm_api_key_is_set: z.boolean(),
    active_profile: z.string().nullable(),
    active_agent_profile_id: z.string().nullable(),
    misc_settings: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SettingsResponse' })
export type SettingsResponse = z.output<typeof SettingsResponse>

const diff = () => z.record(z.string(), z.unknown()).nullish()

export const SettingsUpdateRequest = z
  .object({
    agent_settings_diff: z
      .looseObject({ mcp_config: z.record(z.string(), MCPServerPatch.nullable()).nullish() })
      .nullish()
      .meta({ description: 'A JSON merge patch' }),
    conversation_settings_diff: diff(),
    misc_settings_diff: diff(),
    active_profile: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
      .nullish(),
    active_agent_profile_id: z
      .string()
      .regex(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/)
      .nullish(),
  })
  .meta({ id: 'SettingsUpdateRequest' })
export type SettingsUpdateRequest = z.output<typeof SettingsUpdateRequest>

const SettingsChoice = z
  .object({ value: z.union([z.boolean(), z.number(), z.string()]), label: z.string() })
  .meta({ id: 'SettingsChoice' })

export const SettingsFieldSchema = z
  .object({
    key: z.string(),
    label: z.string(),
    description: z.string().nullable(),
    section: z.string(),
    section_label: z.string(),
    value_type: z.enum(['string', 'integer', 'number', 'boolean', 'array', 'object']),
    default: z.unknown(),
    prominence: z.enum(['critical', 'major', 'minor']).meta({ id: 'SettingProminence' }),
    depends_on: z.array(z.string()),
    secret: z.boolean(),
    choices: z.array(SettingsChoice),
    variant: z.string().nullable(),
  })
  .meta({ id: 'SettingsFieldSchema' })
export type SettingsFieldSchema = z.output<typeof SettingsFieldSchema>

export const SettingsSectionSchema = z
  .object({
    key: z.string(),
    label: z.string(),
    fields: z.array(SettingsFieldSchema),
    variant: z.string().nullable(),
  })
  .meta({ id: 'SettingsSectionSchema' })
export type SettingsSectionSchema = z.output<typeof SettingsSectionSchema>

export const SettingsSchema = z
  .object({ model_name: z.string(), sections: z.array(SettingsSectionSchema) })
  .meta({ id: 'SettingsSchema' })
export type SettingsSchema = z.output<typeof SettingsSchema>
