import * as z from 'zod'
import { AgentDefinition, AnyAgent, type ClientToolSpec } from '../api/agent.ts'
import type { LaunchedAgentProfile, StartConversationRequest } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import { SecretSource } from '../api/secrets.ts'
import { SecurityAnalyzer } from '../api/security.ts'
import { Skill } from '../api/skills.ts'
import { masked, type Vault } from '../policy/secrets.ts'
import type { State } from './state.ts'

/**
 * What was ordered: fixed when the conversation starts, kept beside the log with its secrets sealed. Skills lie apart,
 * for they are large and a list does not show them.
 */
export interface Order {
  agent: AnyAgent
  workspace: { kind: 'LocalWorkspace'; working_dir: string }
  max_iterations: number
  stuck_detection: boolean
  security_analyzer: SecurityAnalyzer | null
  secrets: Record<string, SecretSource>
  client_tools: ClientToolSpec[]
  hook_config: StartConversationRequest['hook_config']
  /** When the model was switched last: a timestamp as events have it. */
  thinks_since?: string
  /** The agent profile it was started with. */
  launched?: LaunchedAgentProfile
  /** Where its log was copied from; all of it when there is no event. */
  forked_from?: { conversation: string; event: string | null }
  /** What the state began with, should it ever have to be folded again. */
  begun: Pick<State, 'confirmation_policy' | 'security_analyzer' | 'tags'>
  /** What the agent's work will need to know; nothing shows it. */
  options: Pick<
    StartConversationRequest,
    | 'worktree'
    | 'agent_definitions'
    | 'plugins'
    | 'agent_launch_additions'
    | 'autotitle'
    | 'title_llm_profile'
    | 'egress'
    | 'max_budget_per_task'
  > & {
    /** Whose sub-agent it is: they share what may be spent. */
    subagent_of?: string
  }
}

export type Skills = Skill[]

/** Whether a key in the headers of a look-up on ourselves is ours. */
export type KeyCheck = (candidate: string | undefined) => boolean

export function makeOrder(
  request: StartConversationRequest,
  agent: AnyAgent,
  vault: Vault,
  isKey: KeyCheck,
): { order: Order; skills: Skills } {
  const context = agent.agent_context
  const secrets = Object.fromEntries(
    Object.entries(request.secrets).map(([name, source]) => [name, ownLookup(name, source, isKey)]),
  )
  const analyzer = request.security_analyzer && vault.sealAll(SecurityAnalyzer, request.security_analyzer)
  const order: Order = {
    agent: vault.sealAll(AnyAgent, context ? { ...agent, agent_context: { ...context, skills: [] } } : agent),
    workspace: { kind: 'LocalWorkspace', working_dir: request.workspace.working_dir },
    max_iterations: request.max_iterations,
    stuck_detection: request.stuck_detection,
    security_analyzer: analyzer,
    secrets: Object.fromEntries(
      Object.entries(secrets).map(([name, source]) => [name, vault.sealAll(SecretSource, source)]),
    ),
    client_tools: request.client_tools,
    hook_config: request.hook_config,
    begun: {
      confirmation_policy: request.confirmation_policy,
      security_analyzer: analyzer && masked(SecurityAnalyzer, analyzer),
      tags: request.tags,
    },
    options: {
      worktree: request.worktree,
      agent_definitions: vault.sealAll(z.array(AgentDefinition), request.agent_definitions),
      plugins: request.plugins,
      agent_launch_additions: request.agent_launch_additions,
      autotitle: request.autotitle,
      title_llm_profile: request.title_llm_profile,
      egress: request.egress,
      max_budget_per_task: request.max_budget_per_task,
    },
  }
  return { order, skills: vault.sealAll(z.array(Skill), context?.skills ?? []) }
}

const KEY_HEADER = /^x-session-api-key$/i

/**
 * A look-up on this server is resolved in-process later. The key that came with it is checked here, once, and not kept:
 * without a right one, the order would read a stored secret that its sender may not read.
 */
export function ownLookup(name: string, source: SecretSource, isKey: KeyCheck): SecretSource {
  if (source.kind !== 'LookupSecret' || !source.url.startsWith('/')) return source
  const key = Object.entries(source.headers).find(([header]) => KEY_HEADER.test(header))?.[1]
  if (!isKey(key)) throw fault('invalid_request', `The secret ${name} is looked up on this server without its key`)
  return { ...source, headers: {} }
}
