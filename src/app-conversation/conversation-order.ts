import { AgentSettings } from '../api/agent.ts'
import type { AppConversationStartRequest } from '../api/app-conversations.ts'
import type { TextContent } from '../api/common.ts'
import { StartConversationRequest } from '../api/conversations.ts'
import type { SuggestedTask } from '../api/git-providers.ts'
import type { SecretSource } from '../api/secrets.ts'
import type { ConfirmationPolicy, SecurityAnalyzer } from '../api/security.ts'
import type { FullSettings } from '../settings/document.ts'

export interface OrderParts {
  id: string
  /** Secrets in it and in the settings are plain. */
  request: AppConversationStartRequest
  settings: FullSettings
  folder: string
  /** The names of what the user keeps: custom secrets, and the tokens of git providers. */
  stored: readonly string[]
  /** How the repository was prepared, as far as the agent must know. */
  notes: readonly string[]
}

/** From what a person ordered and what is remembered for them to an order for a conversation. */
export function conversationOrder(parts: OrderParts): StartConversationRequest {
  const { id, request, settings, folder } = parts
  const { conversation_settings: conversation, app, flat } = settings
  return StartConversationRequest.parse({
    conversation_id: id,
    parent_conversation_id: request.parent_conversation_id,
    workspace: { working_dir: folder },
    agent_settings: agentSettings(parts),
    ...asking(settings),
    max_iterations: conversation.max_iterations,
    max_budget_per_task: flat.max_budget_per_task ?? null,
    initial_message: firstMessage(request),
    plugins: request.plugins,
    secrets: secretsFor(parts),
    tags: request.tags,
    autotitle: request.title === null,
    title_llm_profile: app.title_llm_profile,
  })
}

const PLANNING_TOOLS = ['glob', 'grep', 'planning_file_editor']

const PLANNING = `You are planning, not building. Study the task and the code until you could explain both, then write the plan to PLAN.md in the working directory: what is to be done and why, in which files, in which order, how each step is verified, and what is still open. Change nothing else. Ask when something that matters cannot be found out. Finish when somebody else could build from the plan.`

function agentSettings({ request, settings, notes }: OrderParts): AgentSettings {
  const agent = settings.agent_settings
  const planning = request.agent_type === 'plan'
  const context = agent.agent_context
  const suffix = [
    context?.system_message_suffix,
    ...(planning ? [PLANNING] : []),
    ...notes,
    request.system_message_suffix,
  ].filter(Boolean)
  const common = {
    ...agent,
    llm: { ...agent.llm, stream: true, ...(request.llm_model && { model: request.llm_model }) },
    mcp_config: { ...searchServer(settings.flat.search_api_key), ...agent.mcp_config },
    agent_context: {
      ...context,
      system_message_suffix: suffix.join('\n\n') || null,
      load_user_skills: true,
      load_project_skills: true,
      disabled_skills: [...(context?.disabled_skills ?? []), ...(settings.app.disabled_skills ?? [])],
    },
  }
  return AgentSettings.parse(planning ? { ...common, tools: PLANNING_TOOLS.map(name => ({ name })) } : common)
}

/** A key for Tavily's search is a server to search with. */
const searchServer = (key: string | null | undefined) =>
  key?.startsWith('tvly-')
    ? { tavily: { url: 'https://mcp.tavily.com/mcp/', transport: 'http', headers: { Authorization: `Bearer ${key}` } } }
    : {}

/** What confirmation mode means: everything, or what the analyzer finds risky. */
function asking({ conversation_settings: settings, flat }: FullSettings): {
  confirmation_policy?: ConfirmationPolicy
  security_analyzer?: SecurityAnalyzer
} {
  const analyzer = analyzerOf(flat.security_analyzer ?? settings.security_analyzer)
  const security_analyzer = analyzer && { security_analyzer: analyzer }
  if (!settings.confirmation_mode) return { ...security_analyzer }
  if (!analyzer) return { confirmation_policy: { kind: 'AlwaysConfirm' } }
  return {
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
    ...security_analyzer,
  }
}

/** A name that nobody knows judges nothing: then everything is asked for. */
function analyzerOf(name: string | null): SecurityAnalyzer | undefined {
  if (name === 'llm') return { kind: 'LLMSecurityAnalyzer' }
  if (name === 'pattern') return { kind: 'PatternSecurityAnalyzer' }
  if (name === 'policy_rail') return { kind: 'PolicyRailSecurityAnalyzer' }
  return undefined
}

function secretsFor({ request, stored }: OrderParts): Record<string, SecretSource> {
  const kept = stored.map((name): [string, SecretSource] => [
    name,
    { kind: 'LookupSecret', url: `/api/settings/secrets/${name}`, headers: {}, description: null },
  ])
  const given = Object.entries(request.secrets ?? {}).map(([name, value]): [string, SecretSource] => [
    name,
    { kind: 'StaticSecret', value, description: null },
  ])
  return Object.fromEntries([...kept, ...given])
}

function firstMessage(request: AppConversationStartRequest) {
  const { initial_message: said, suggested_task: task } = request
  if (!said && !task) return null
  const content = [...(said?.content ?? []), ...(task ? [text(taskText(task))] : []), ...parametersIn(request)]
  return { ...said, role: 'user' as const, content, run: true }
}

/** What a person chose for a plugin, for whom it is meant: the model. */
const parametersIn = ({ plugins }: AppConversationStartRequest): TextContent[] =>
  (plugins ?? []).flatMap(({ source, parameters }) =>
    parameters ? [text(`Parameters for the plugin ${source}:\n${JSON.stringify(parameters, null, 2)}`)] : [],
  )

const text = (words: string): TextContent => ({ type: 'text', text: words, cache_prompt: false })

const TASKS: Record<SuggestedTask['task_type'], (where: string) => string> = {
  MERGE_CONFLICTS: where =>
    `${where} conflicts with the branch it is to be merged into. Resolve the conflicts so that both intentions survive, run the tests, and push.`,
  FAILING_CHECKS: where =>
    `Checks of ${where} fail. Find out why, fix the cause, verify it here as far as possible, and push.`,
  UNRESOLVED_COMMENTS: where =>
    `Review comments on ${where} are unresolved. Read each, change what is right to change, push, and answer those you disagree with.`,
  OPEN_ISSUE: where => `Resolve ${where}: understand it, reproduce it, fix it with a test, and open a pull request.`,
  OPEN_PR: where => `Bring ${where} to an end: see what is missing, complete it, and push.`,
  CREATE_MICROAGENT: where => `Write a skill for this repository about ${where}.`,
}

function taskText({ task_type, repo, issue_number, title }: SuggestedTask): string {
  const what = task_type === 'OPEN_ISSUE' ? 'issue' : 'pull request'
  return `${TASKS[task_type](`${what} #${issue_number} of ${repo} ("${title}")`)}\n\nIts repository is in the working directory.`
}
