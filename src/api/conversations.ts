import * as z from 'zod'
import { AgentDefinition, AgentSettings, AnyAgent, ClientToolSpec } from './agent.ts'
import { anyMap, dateTimeOut, orNull, page, strings, textOrNull, uuid, uuidOut } from './common.ts'
import { SendMessageRequest } from './events.ts'
import { HookConfig } from './hooks.ts'
import { ConversationStats, MetricsSnapshot } from './llm.ts'
import { SecretInput, SecretRegistry } from './secrets.ts'
import { ConfirmationPolicy, SecurityAnalyzer } from './security.ts'

export const ConversationExecutionStatus = z
  .enum(['idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck', 'deleting'])
  .meta({ id: 'ConversationExecutionStatus' })
export type ConversationExecutionStatus = z.output<typeof ConversationExecutionStatus>

/** Splits unambiguously: a name has letters and digits only. */
const TAG = /^([a-z0-9]+)(?:[:=](.*))?$/s

/** A tag that is asked for: `name`, or `name:value` (also with `=` between). */
export const TagFilter = z.string().regex(TAG).meta({ description: 'name, or name:value' })

export function tagOf(filter: string): { name: string; value?: string } {
  const [, name = '', value] = TAG.exec(filter) ?? []
  return { name, ...(value !== undefined && { value }) }
}

export const ConversationSortOrder = z
  .enum(['CREATED_AT', 'UPDATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT_DESC'])
  .meta({ id: 'ConversationSortOrder' })
export type ConversationSortOrder = z.output<typeof ConversationSortOrder>

export const EventSortOrder = z.enum(['TIMESTAMP', 'TIMESTAMP_DESC']).meta({ id: 'EventSortOrder' })
export type EventSortOrder = z.output<typeof EventSortOrder>

export const LocalWorkspace = z
  .object({
    working_dir: z.string(),
    kind: z
      .literal('LocalWorkspace', {
        error: 'Only a LocalWorkspace can be used here: the folder is one of this server, not of another',
      })
      .default('LocalWorkspace'),
  })
  .meta({ id: 'LocalWorkspace' })
export type LocalWorkspace = z.output<typeof LocalWorkspace>

/** They are told with every list. */
const TAGS = 100

export const Tags = z
  .record(
    z
      .string()
      .max(64)
      .regex(/^[a-z0-9]+$/),
    z.string().max(256),
  )
  .refine(tags => Object.keys(tags).length <= TAGS, `At most ${TAGS} tags`)
export type Tags = z.output<typeof Tags>

export const PluginSource = z
  .object({ source: z.string(), ref: textOrNull, repo_path: textOrNull })
  .meta({ id: 'PluginSource' })
export type PluginSource = z.output<typeof PluginSource>

export const AgentLaunchAdditions = z
  .strictObject({ system_message_suffix_append: orNull(z.string().max(32_768)) })
  .meta({ id: 'AgentLaunchAdditions' })
export type AgentLaunchAdditions = z.output<typeof AgentLaunchAdditions>

const clientTools = z.array(ClientToolSpec).check(({ value: tools, issues }) => {
  const names = tools.map(tool => tool.name)
  for (const [i, name] of names.entries())
    if (names.indexOf(name) < i)
      issues.push({ code: 'custom', input: name, path: [i, 'name'], message: `There are two client tools '${name}'` })
})

const observed = z.union([
  z.string(),
  z.boolean(),
  z.number(),
  z.array(z.string()),
  z.array(z.boolean()),
  z.array(z.number()),
])

/** This very object, where an order says nothing of it: what it comes to is then the server's to decide. */
export const POLICY_UNSAID: ConfirmationPolicy = { kind: 'NeverConfirm' }

/** `hosts` are names, `*.name` for all below it, or addresses, each optionally with `:port`. */
export const Egress = z.object({ mode: z.enum(['none', 'hosts', 'open']), hosts: strings }).meta({ id: 'Egress' })
export type Egress = z.output<typeof Egress>

export const StartConversationRequest = z
  .object({
    workspace: LocalWorkspace,
    worktree: z.boolean().default(false),
    conversation_id: orNull(uuid()),
    parent_conversation_id: orNull(uuid()),
    confirmation_policy: ConfirmationPolicy.default(() => POLICY_UNSAID),
    security_analyzer: orNull(SecurityAnalyzer),
    initial_message: orNull(SendMessageRequest),
    /** Of one run. */
    max_iterations: z.int().min(1).default(500),
    stuck_detection: z.boolean().default(true),
    secrets: z.record(z.string(), SecretInput).default({}),
    /** Whether secrets are tokens of this server's making. */
    secrets_encrypted: z.boolean().default(false),
    tool_module_qualnames: z.record(z.string(), z.string()).default({}),
    client_tools: clientTools.default([]),
    agent_launch_additions: orNull(AgentLaunchAdditions),
    agent_definitions: z.array(AgentDefinition).default([]),
    plugins: orNull(z.array(PluginSource)),
    hook_config: orNull(HookConfig),
    tags: Tags.default({}),
    user_id: textOrNull,
    observability_metadata: z.record(z.string(), observed).default({}),
    observability_tags: z.array(z.string().min(1)).default([]),
    observability_span_name: z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9._:/-]+$/)
      .default('conversation'),
    autotitle: z.boolean().default(true),
    title_llm_profile: textOrNull,
    /** Counts only without `agent`. */
    agent_settings: orNull(AgentSettings),
    agent_profile_id: orNull(uuid()),
    agent: orNull(AnyAgent),
    /** What its commands may reach, when that is to be less than their sandbox may. */
    egress: orNull(Egress),
    /** In USD, for all models it uses, sub-agents included. */
    max_budget_per_task: orNull(z.number().min(0)),
  })
  .check(({ value, issues }) => {
    const refuse = (path: string[], message: string) => issues.push({ code: 'custom', input: value, path, message })
    const described = value.agent !== null || value.agent_settings !== null
    if (value.agent_profile_id === null && !described)
      refuse([], 'One of agent, agent_settings and agent_profile_id is needed')
    if (value.agent_profile_id !== null && described)
      refuse(['agent_profile_id'], 'agent_profile_id excludes agent and agent_settings')
  })
  .meta({ id: 'StartConversationRequest' })
export type StartConversationRequest = z.output<typeof StartConversationRequest>

export const ACPModelInfo = z
  .object({ model_id: z.string(), name: z.string().nullable(), description: z.string().nullable() })
  .meta({ id: 'ACPModelInfo' })
export type ACPModelInfo = z.output<typeof ACPModelInfo>

export const LaunchedAgentProfile = z
  .object({ agent_profile_id: uuidOut, revision: z.int().min(0) })
  .meta({ id: 'LaunchedAgentProfile' })
export type LaunchedAgentProfile = z.output<typeof LaunchedAgentProfile>

export const ConversationInfo = z
  .object({
    id: uuidOut,
    workspace: LocalWorkspace,
    persistence_dir: z.string().nullable(),
    max_iterations: z.int().min(1),
    stuck_detection: z.boolean(),
    execution_status: ConversationExecutionStatus,
    confirmation_policy: ConfirmationPolicy,
    security_analyzer: SecurityAnalyzer.nullable(),
    activated_knowledge_skills: z.array(z.string()),
    invoked_skills: z.array(z.string()),
    /** What a hook blocked, and why, by the id of the event. */
    blocked_actions: z.record(z.string(), z.string()),
    blocked_messages: z.record(z.string(), z.string()),
    last_user_message_id: z.string().nullable(),
    leaf_event_id: z.string().nullable(),
    stats: ConversationStats,
    secret_registry: SecretRegistry,
    agent_state: anyMap,
    hook_config: HookConfig.nullable(),
    title: z.string().nullable(),
    metrics: MetricsSnapshot.nullable(),
    created_at: dateTimeOut,
    updated_at: dateTimeOut,
    forked_from_conversation_id: uuidOut.nullable(),
    forked_from_event_id: z.string().nullable(),
    parent_conversation_id: uuidOut.nullable(),
    sub_conversation_ids: z.array(uuidOut),
    tags: Tags,
    current_model_id: z.string().nullable(),
    available_models: z.array(ACPModelInfo),
    supports_runtime_model_switch: z.boolean(),
    launched_agent_profile: LaunchedAgentProfile.nullable(),
    agent: AnyAgent,
    client_tools: z.array(ClientToolSpec),
  })
  .meta({ id: 'ConversationInfo' })
export type ConversationInfo = z.output<typeof ConversationInfo>

export const ConversationPage = page('ConversationPage', ConversationInfo)
export type ConversationPage = z.output<typeof ConversationPage>

/** What is left out or null stays. `tags` replace all there were. */
export const UpdateConversationRequest = z
  .object({
    title: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .refine(text => text.isWellFormed(), { error: 'Input should be well-formed Unicode' })
      .nullish(),
    tags: Tags.nullish(),
    /** In USD. An exhausted one is raised here; then the conversation can be run again. */
    max_budget_per_task: z.number().min(0).nullish(),
  })
  .meta({ id: 'UpdateConversationRequest' })
export type UpdateConversationRequest = z.output<typeof UpdateConversationRequest>

export const SetConfirmationPolicyRequest = z
  .object({ policy: ConfirmationPolicy })
  .meta({ id: 'SetConfirmationPolicyRequest' })
export type SetConfirmationPolicyRequest = z.output<typeof SetConfirmationPolicyRequest>

export const SetSecurityAnalyzerRequest = z
  .object({ security_analyzer: SecurityAnalyzer.nullable() })
  .meta({ id: 'SetSecurityAnalyzerRequest' })
export type SetSecurityAnalyzerRequest = z.output<typeof SetSecurityAnalyzerRequest>

export const UpdateSecretsRequest = z
  .object({ secrets: z.record(z.string(), SecretInput) })
  .meta({ id: 'UpdateSecretsRequest' })
export type UpdateSecretsRequest = z.output<typeof UpdateSecretsRequest>

export const ConfirmationResponseRequest = z
  .object({
    accept: z.boolean(),
    reason: z.string().default('User rejected the action.'),
    /** The events of the actions that are answered; all that wait unless given. */
    action_ids: z.array(z.string()).nullish(),
  })
  .meta({ id: 'ConfirmationResponseRequest' })
export type ConfirmationResponseRequest = z.output<typeof ConfirmationResponseRequest>
