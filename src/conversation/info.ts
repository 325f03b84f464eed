import { AnyAgent } from '../api/agent.ts'
import type { ConversationInfo } from '../api/conversations.ts'
import { stateUpdate } from '../api/draft.ts'
import type { Event } from '../api/events.ts'
import { SecretSource } from '../api/secrets.ts'
import { hexUuid } from '../lib/id.ts'
import { formatUtc } from '../lib/time.ts'
import { masked, withoutSecrets } from '../policy/secrets.ts'
import type { ConversationRecord } from '../store/store.ts'
import { unplaced } from './draft.ts'
import type { Order, Skills } from './order.ts'
import { isBare, type State } from './state.ts'

export interface Whole {
  record: ConversationRecord
  state: State
  order: Order
  skills?: Skills
  children: string[]
}

/** What REST shows of a conversation: secrets are null here, and masked entries of maps are absent. */
export function toInfo({ record, state, order, skills, children }: Whole): ConversationInfo {
  const { max_budget_per_task } = order.options
  return {
    id: record.id,
    workspace: order.workspace,
    persistence_dir: persistenceDir(record.id),
    max_iterations: order.max_iterations,
    stuck_detection: order.stuck_detection,
    execution_status: state.execution_status,
    confirmation_policy: state.confirmation_policy,
    security_analyzer: state.security_analyzer,
    activated_knowledge_skills: state.activated_knowledge_skills,
    invoked_skills: state.invoked_skills,
    blocked_actions: state.blocked_actions,
    blocked_messages: state.blocked_messages,
    last_user_message_id: state.last_user_message_id,
    leaf_event_id: isBare(state) ? null : state.leaf_event_id,
    stats: {
      usage_to_metrics: mapValues(state.stats.usage_to_metrics, metrics => ({ ...metrics, max_budget_per_task })),
    },
    secret_registry: { secret_sources: mapValues(order.secrets, source => withoutSecrets(SecretSource, source)) },
    agent_state: state.agent_state,
    hook_config: order.hook_config,
    title: record.title,
    metrics: null,
    created_at: formatUtc(record.createdAt),
    updated_at: formatUtc(record.updatedAt),
    forked_from_conversation_id: order.forked_from?.conversation ?? null,
    forked_from_event_id: order.forked_from?.event ?? null,
    parent_conversation_id: record.parentId,
    sub_conversation_ids: children,
    tags: state.tags,
    current_model_id: null,
    available_models: [],
    supports_runtime_model_switch: false,
    launched_agent_profile: order.launched ?? null,
    agent: withoutSecrets(AnyAgent, withSkills(order.agent, skills)),
    client_tools: order.client_tools,
  }
}

/** The state as one event: what a new reader gets first, and all readers after a run. */
export function snapshot({ record, state, order, skills }: Omit<Whole, 'children'>): Event {
  const { last_event_at, open, meanwhile, ...fields } = state
  const value = {
    id: record.id,
    agent: masked(AnyAgent, withSkills(order.agent, skills)),
    workspace: order.workspace,
    persistence_dir: persistenceDir(record.id),
    max_iterations: order.max_iterations,
    stuck_detection: order.stuck_detection,
    ...fields,
    leaf_event_id: isBare(state) ? null : state.leaf_event_id,
    head_is_empty: isBare(state),
    secret_registry: { secret_sources: mapValues(order.secrets, source => masked(SecretSource, source)) },
    hook_config: order.hook_config,
  }
  return unplaced(stateUpdate('full_state', withoutNulls(value)))
}

/** A name, not a path: where the server keeps things is nobody's business, but clients insist on text here. */
const persistenceDir = (id: string): string => `conversations/${hexUuid(id)}`

const withSkills = (agent: AnyAgent, skills: Skills | undefined): AnyAgent =>
  skills && agent.agent_context ? { ...agent, agent_context: { ...agent.agent_context, skills } } : agent

const mapValues = <A, B>(map: Record<string, A>, change: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]))

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])),
  )
}
