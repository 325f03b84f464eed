import type { AppConversation, AppConversationStartRequest } from '../api/app-conversations.ts'
import type { ConversationInfo, LaunchedAgentProfile } from '../api/conversations.ts'
import type { SandboxStatus } from '../api/sandboxes.ts'
import { hexUuid } from '../lib/id.ts'

/** What an order said beyond what a conversation is made of: the part `app` beside its log. */
export type AppInfo = Pick<
  AppConversationStartRequest,
  'selected_repository' | 'selected_branch' | 'git_provider' | 'trigger' | 'pr_number' | 'public'
>

/** The name of the part. */
export const APP = 'app'

/** Of conversations that were started in another way. */
const NOTHING_ORDERED: AppInfo = {
  selected_repository: null,
  selected_branch: null,
  git_provider: null,
  trigger: null,
  pr_number: [],
  public: null,
}

export const appInfo = (request: AppConversationStartRequest): AppInfo => ({
  selected_repository: request.selected_repository,
  selected_branch: request.selected_branch,
  git_provider: request.git_provider,
  trigger: request.trigger ?? (request.suggested_task ? 'suggested_task' : null),
  pr_number: request.pr_number,
  public: request.public,
})

/** A conversation for another one is where that one is, and about the same. */
export const inherit = (
  request: AppConversationStartRequest,
  parent: { app: AppInfo; sandbox: string; model: string },
): AppConversationStartRequest => ({
  ...request,
  sandbox_id: request.sandbox_id ?? parent.sandbox,
  selected_repository: request.selected_repository ?? parent.app.selected_repository,
  selected_branch: request.selected_branch ?? parent.app.selected_branch,
  git_provider: request.git_provider ?? parent.app.git_provider,
  // The model of an agent profile is its own.
  llm_model: request.llm_model ?? (request.agent_profile_id === null ? parent.model : null),
})

export const readAppInfo = (json: string | undefined): AppInfo =>
  json === undefined ? NOTHING_ORDERED : { ...NOTHING_ORDERED, ...JSON.parse(json) }

/** Where its hands are, and how to get there. */
export interface Lodging {
  id: string
  status: SandboxStatus
  /** Of the sandbox's API. */
  url: string | null
  key: string | null
}

/** How clients know, from its tags, the agent profile that a conversation was ordered with. */
export const launchTags = ({ agent_profile_id, revision }: LaunchedAgentProfile) => ({
  agentprofileid: agent_profile_id,
  agentprofilerevision: String(revision),
})

export function appConversation(info: ConversationInfo, app: AppInfo, sandbox: Lodging): AppConversation {
  const { tags, agent } = info
  const isAcp = agent.kind === 'ACPAgent'
  return {
    id: hexUuid(info.id),
    created_by_user_id: null,
    sandbox_id: sandbox.id,
    ...app,
    title: info.title ?? `Conversation ${hexUuid(info.id).slice(0, 5)}`,
    llm_model: agent.llm.model,
    agent_kind: isAcp ? 'acp' : 'openhands',
    metrics: info.metrics,
    parent_conversation_id: info.parent_conversation_id && hexUuid(info.parent_conversation_id),
    sub_conversation_ids: info.sub_conversation_ids.map(hexUuid),
    tags,
    created_at: info.created_at,
    updated_at: info.updated_at,
    sandbox_status: sandbox.status,
    execution_status: info.execution_status,
    conversation_url: sandbox.url && `${sandbox.url}/api/conversations/${hexUuid(info.id)}`,
    session_api_key: sandbox.key,
    acp_server: isAcp ? (tags.acpserver ?? null) : null,
    launched_agent_profile: info.launched_agent_profile,
  }
}
