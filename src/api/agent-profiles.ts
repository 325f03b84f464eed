import * as z from 'zod'
import { Tool } from './agent.ts'
import { anyMap, nullishText, orNull, strings, textOrNull, uuid, uuidOut } from './common.ts'
import { CondenserSettings } from './condenser.ts'
import { VerificationSettings } from './critic.ts'
import { ProfileName } from './profiles.ts'

/** A choice in a menu, and all of them lie in one document: more would help nobody. */
export const MAX_AGENT_PROFILES = 50

/** Without its key: a profile holds no secrets. */
const ProfileVerificationSettings = VerificationSettings.omit({ critic_api_key: true }).meta({
  id: 'ProfileVerificationSettings',
})

/** `mcp_server_refs`: keys of the settings' MCP servers; all of them where it is null. */
const common = {
  schema_version: z.int().min(1).default(2),
  mcp_server_refs: orNull(z.array(z.string())),
}

const openhands = {
  ...common,
  agent_kind: z.literal('openhands').optional().default('openhands'),
  /** The name of an LLM profile. */
  llm_profile_ref: z.string().min(1),
  agent: z.string().default('CodeActAgent'),
  tools: orNull(z.array(Tool)),
  system_message_suffix: textOrNull,
  disabled_skills: strings,
  condenser: CondenserSettings.prefault({}),
  verification: ProfileVerificationSettings.prefault({}),
  enable_sub_agents: z.boolean().default(false),
  enable_switch_llm_tool: z.boolean().default(true),
  tool_concurrency_limit: z.int().min(1).default(1),
}

const acp = {
  ...common,
  agent_kind: z.literal('acp'),
  acp_server: z.enum(['claude-code', 'codex', 'gemini-cli', 'custom']).default('claude-code'),
  acp_model: textOrNull,
  acp_session_mode: textOrNull,
  acp_prompt_timeout: z.number().gt(0).default(1800),
  acp_startup_timeout: z.number().gt(0).default(90),
  acp_command: textOrNull,
  acp_args: orNull(z.array(z.string())),
}

/** The server's to say, whatever was sent. */
const identity = { id: uuid().nullish(), name: nullishText, revision: z.int().min(0).nullish() }

/** How somebody wants agents to be, under a name: a conversation started with it gets what the profile says at that moment. */
export const SaveAgentProfileRequest = z
  .discriminatedUnion('agent_kind', [
    z.strictObject({ ...openhands, ...identity }).meta({ id: 'OpenHandsAgentProfile-Input' }),
    z.strictObject({ ...acp, ...identity }).meta({ id: 'ACPAgentProfile-Input' }),
  ])
  .meta({ id: 'AgentProfile-Input' })
export type SaveAgentProfileRequest = z.output<typeof SaveAgentProfileRequest>

const identified = { id: uuidOut, name: z.string(), revision: z.int().min(0) }

export const OpenHandsAgentProfile = z.object({ ...openhands, ...identified }).meta({ id: 'OpenHandsAgentProfile' })
export type OpenHandsAgentProfile = z.output<typeof OpenHandsAgentProfile>

export const AgentProfile = z
  .discriminatedUnion('agent_kind', [
    OpenHandsAgentProfile,
    z.object({ ...acp, ...identified }).meta({ id: 'ACPAgentProfile' }),
  ])
  .meta({ id: 'AgentProfile' })
export type AgentProfile = z.output<typeof AgentProfile>

export const AgentProfileInfo = z
  .object({
    id: z.string().nullable(),
    name: z.string(),
    agent_kind: z.string().default('openhands'),
    revision: z.int().nullable(),
    llm_profile_ref: textOrNull,
    mcp_server_refs: orNull(z.array(z.string())),
  })
  .meta({ id: 'AgentProfileInfo' })
export type AgentProfileInfo = z.output<typeof AgentProfileInfo>

export const AgentProfileListResponse = z
  .object({ profiles: z.array(AgentProfileInfo), active_agent_profile_id: textOrNull })
  .meta({ id: 'AgentProfileListResponse' })
export type AgentProfileListResponse = z.output<typeof AgentProfileListResponse>

export const AgentProfileDetailResponse = z
  .object({ name: z.string(), profile: AgentProfile })
  .meta({ id: 'AgentProfileDetailResponse' })
export type AgentProfileDetailResponse = z.output<typeof AgentProfileDetailResponse>

export const AgentProfileMutationResponse = z
  .object({ name: z.string(), message: z.string() })
  .meta({ id: 'AgentProfileMutationResponse' })
export type AgentProfileMutationResponse = z.output<typeof AgentProfileMutationResponse>

export const RenameAgentProfileRequest = z.object({ new_name: ProfileName }).meta({ id: 'RenameAgentProfileRequest' })

export const ActivateAgentProfileResponse = z
  .object({ id: z.string(), message: z.string(), agent_settings_applied: z.boolean().default(false) })
  .meta({ id: 'ActivateAgentProfileResponse' })
export type ActivateAgentProfileResponse = z.output<typeof ActivateAgentProfileResponse>

/** What would become of a profile if a conversation were started with it now. */
export const AgentProfileDiagnostics = z
  .object({
    agent_kind: z.string(),
    valid: z.boolean().default(false),
    errors: strings,
    llm_profile_ref: textOrNull,
    llm_profile_resolved: z.boolean().default(false),
    llm_api_key_set: z.boolean().default(false),
    mcp_server_refs: orNull(z.array(z.string())),
    resolved_mcp_config_keys: strings,
    dangling_mcp_server_refs: strings,
    disabled_skills: strings,
    resolved_skills: strings,
    acp_api_key_secret_name: textOrNull,
    acp_base_url_secret_name: textOrNull,
    acp_file_secret_names: strings,
    /** Agent settings, their secrets masked; null unless valid. */
    resolved_settings: orNull(anyMap),
  })
  .meta({ id: 'AgentProfileDiagnostics' })
export type AgentProfileDiagnostics = z.output<typeof AgentProfileDiagnostics>
