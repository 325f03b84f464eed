import * as z from 'zod'
import { anyMap, Content, dateTimeOut, nullishText, orNull, page, textOrNull, uuid } from './common.ts'
import { ConversationExecutionStatus, LaunchedAgentProfile, Tags } from './conversations.ts'
import { SendMessageRequest } from './events.ts'
import { isBranchName } from './git.ts'
import { ProviderType, SuggestedTask } from './git-providers.ts'
import { MetricsSnapshot } from './llm.ts'
import { SandboxStatus } from './sandboxes.ts'
import { secret } from './secret.ts'
import { SecretName } from './user-secrets.ts'

/** Ids of this generation are shown as 32 hex digits, and taken with or without hyphens. */
const hex = z.string()

export const ConversationTrigger = z
  .enum([
    'resolver',
    'gui',
    'suggested_task',
    'openhands_api',
    'slack',
    'microagent_management',
    'jira',
    'jira_dc',
    'linear',
    'bitbucket',
    'automation',
  ])
  .meta({ id: 'ConversationTrigger' })

/** `owner/name`, or deeper where a provider has groups within groups. Nothing in it can be an option or a command. */
const RepositoryName = z
  .string()
  .max(300)
  .regex(/^(https?:\/\/[\w.:-]+\/)?[\w.][\w.-]*(\/[\w.~][\w.~-]*)+(\.git)?$/, 'Not a repository: write owner/name')
  .refine(name => !name.includes('..'), 'Not a repository: write owner/name')

const BranchName = z.string().refine(isBranchName, 'Not a branch name')

const PluginSpec = z
  .object({ source: z.string(), ref: textOrNull, repo_path: textOrNull, parameters: orNull(anyMap) })
  .meta({ id: 'PluginSpec' })

export const AgentType = z.enum(['default', 'plan']).meta({ id: 'AgentType' })

export const AppConversationStartRequest = z
  .object({
    sandbox_id: textOrNull,
    /** Chosen by the caller: the same order under the same id is the same start. */
    conversation_id: orNull(uuid()),
    initial_message: orNull(SendMessageRequest),
    system_message_suffix: orNull(z.string().max(32_768)),
    /** Conversations are named by themselves, so there is nothing to process: taken, and without effect. */
    processors: orNull(z.array(z.object({ kind: z.string().max(100) })).max(100)),
    llm_model: orNull(z.string().max(300)),
    agent_profile_id: orNull(z.string().max(100)),
    selected_repository: orNull(RepositoryName),
    selected_branch: orNull(BranchName),
    git_provider: orNull(ProviderType),
    suggested_task: orNull(SuggestedTask),
    title: orNull(z.string().trim().min(1).max(200)),
    trigger: orNull(ConversationTrigger),
    pr_number: z.array(z.int()).max(1000).default([]),
    parent_conversation_id: orNull(uuid()),
    agent_type: AgentType.default('default'),
    public: orNull(z.boolean()),
    plugins: orNull(z.array(PluginSpec)),
    /** For this conversation alone; they win over stored ones of the same name. */
    secrets: orNull(z.record(SecretName, secret())),
    tags: Tags.default({}),
  })
  .meta({ id: 'AppConversationStartRequest' })
export type AppConversationStartRequest = z.output<typeof AppConversationStartRequest>

export const StartStatus = z
  .enum([
    'WORKING',
    'WAITING_FOR_SANDBOX',
    'PREPARING_REPOSITORY',
    'RUNNING_SETUP_SCRIPT',
    'SETTING_UP_GIT_HOOKS',
    'SETTING_UP_SKILLS',
    'STARTING_CONVERSATION',
    'READY',
    'ERROR',
  ])
  .meta({ id: 'AppConversationStartTaskStatus' })
export type StartStatus = z.output<typeof StartStatus>

/** What came of a step, for a person. */
export const StartStep = z
  .object({
    status: StartStatus,
    outcome: z.enum(['done', 'skipped', 'refused', 'failed']),
    detail: z.string().nullable(),
  })
  .meta({ id: 'AppConversationStartStep' })
export type StartStep = z.output<typeof StartStep>

export const AppConversationStartTask = z
  .object({
    id: hex,
    created_by_user_id: z.string().nullable(),
    status: StartStatus,
    /** Why it failed. */
    detail: z.string().nullable(),
    app_conversation_id: hex.nullable(),
    sandbox_id: z.string().nullable(),
    agent_server_url: z.string().nullable(),
    request: AppConversationStartRequest,
    steps: z.array(StartStep),
    created_at: dateTimeOut,
    updated_at: dateTimeOut,
  })
  .meta({ id: 'AppConversationStartTask' })
export type AppConversationStartTask = z.output<typeof AppConversationStartTask>
export const AppConversationStartTaskPage = page('AppConversationStartTaskPage', AppConversationStartTask)

export const StartTaskSortOrder = z
  .enum(['CREATED_AT', 'CREATED_AT_DESC'])
  .meta({ id: 'AppConversationStartTaskSortOrder' })

export const AppConversation = z
  .object({
    id: hex,
    created_by_user_id: z.string().nullable(),
    sandbox_id: z.string(),
    selected_repository: z.string().nullable(),
    selected_branch: z.string().nullable(),
    git_provider: ProviderType.nullable(),
    title: z.string().nullable(),
    trigger: ConversationTrigger.nullable(),
    pr_number: z.array(z.int()),
    llm_model: z.string().nullable(),
    agent_kind: z.string(),
    metrics: MetricsSnapshot.nullable(),
    parent_conversation_id: hex.nullable(),
    sub_conversation_ids: z.array(hex),
    public: z.boolean().nullable(),
    tags: z.record(z.string(), z.string()),
    created_at: dateTimeOut,
    updated_at: dateTimeOut,
    sandbox_status: SandboxStatus,
    execution_status: ConversationExecutionStatus.nullable(),
    /** Only while its sandbox is running, as is the key; that only to a caller with a key. */
    conversation_url: z.string().nullable(),
    session_api_key: z.string().nullable(),
    acp_server: z.string().nullable(),
    launched_agent_profile: LaunchedAgentProfile.nullable(),
  })
  .meta({ id: 'AppConversation' })
export type AppConversation = z.output<typeof AppConversation>
export const AppConversationPage = page('AppConversationPage', AppConversation)

/** What is left out stays; null clears. */
export const AppConversationUpdateRequest = z
  .object({
    title: z.string().trim().min(1).max(200).nullish(),
    public: z.boolean().nullish(),
    selected_repository: RepositoryName.nullish(),
    selected_branch: BranchName.nullish(),
    git_provider: ProviderType.nullish(),
  })
  .refine(
    ({ selected_repository, selected_branch, git_provider }) =>
      selected_repository !== null || (!selected_branch && !git_provider),
    'Without a repository there is neither a branch nor a provider',
  )
  .meta({ id: 'AppConversationUpdateRequest' })
export type AppConversationUpdateRequest = z.output<typeof AppConversationUpdateRequest>

export const AppSendMessageRequest = z
  .object({
    role: z.literal('user').default('user'),
    content: z.array(Content).min(1),
    run: z.boolean().default(true),
  })
  .meta({ id: 'AppSendMessageRequest' })

export const AppSendMessageResponse = z
  .object({ success: z.boolean(), sandbox_status: SandboxStatus, message: z.string().nullable() })
  .meta({ id: 'AppSendMessageResponse' })
export type AppSendMessageResponse = z.output<typeof AppSendMessageResponse>

export const PendingMessageRequest = z
  .object({ role: z.literal('user').default('user'), content: z.array(Content).min(1) })
  .meta({ id: 'PendingMessageRequest' })
export type PendingMessageRequest = z.output<typeof PendingMessageRequest>

export const PendingMessageResponse = z
  .object({
    id: z.string(),
    queued: z.boolean(),
    /** Among those that wait, from 1. */
    position: z.int(),
  })
  .meta({ id: 'PendingMessageResponse' })
export type PendingMessageResponse = z.output<typeof PendingMessageResponse>

export const SkillSummary = z
  .object({
    name: z.string(),
    type: z.enum(['repo', 'knowledge', 'agentskills']),
    content: z.string(),
    triggers: z.array(z.string()),
  })
  .meta({ id: 'AppConversationSkill' })
export type SkillSummary = z.output<typeof SkillSummary>
export const SkillSummaries = z.object({ skills: z.array(SkillSummary) }).meta({ id: 'AppConversationSkills' })

const HookSummary = z.object({
  event_type: z.string(),
  matchers: z.array(
    z.object({
      matcher: z.string(),
      hooks: z.array(z.object({ type: z.string(), command: nullishText, timeout: z.number(), async: z.boolean() })),
    }),
  ),
})
export const HookSummaries = z.object({ hooks: z.array(HookSummary) }).meta({ id: 'AppConversationHooks' })
export type HookSummaries = z.output<typeof HookSummaries>
