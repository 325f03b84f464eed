import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { Event } from '../api/events.ts'
import type { ConversationStats } from '../api/llm.ts'
import type { ConfirmationPolicy, SecurityAnalyzer } from '../api/security.ts'
import { type Micros, parseTime } from '../lib/time.ts'

/**
 * What a conversation has come to: its log, folded. The names are the wire's, so a state update is an assignment and a
 * snapshot is a copy.
 */
export interface State {
  execution_status: ConversationExecutionStatus
  confirmation_policy: ConfirmationPolicy
  security_analyzer: SecurityAnalyzer | null
  last_user_message_id: string | null
  /** HEAD: the event that the next one follows. */
  leaf_event_id: string | null
  activated_knowledge_skills: string[]
  activated_path_rules: string[]
  invoked_skills: string[]
  blocked_actions: Record<string, string>
  blocked_messages: Record<string, string>
  stats: ConversationStats
  tags: Record<string, string>
  agent_state: Record<string, unknown>
  /** When the last event was made. The next one is made later, whatever the clock says. */
  last_event_at: Micros
}

export const initialState = (
  given: Pick<State, 'confirmation_policy' | 'security_analyzer' | 'tags' | 'last_event_at'>,
): State => ({
  execution_status: 'idle',
  last_user_message_id: null,
  leaf_event_id: null,
  activated_knowledge_skills: [],
  activated_path_rules: [],
  invoked_skills: [],
  blocked_actions: {},
  blocked_messages: {},
  stats: { usage_to_metrics: {} },
  agent_state: {},
  ...given,
})

/** Keys of state updates that are fields of the state; others (`goal`, …) are news, not state. */
const FIELDS: ReadonlySet<string> = new Set<keyof State>([
  'execution_status',
  'confirmation_policy',
  'security_analyzer',
  'last_user_message_id',
  'activated_knowledge_skills',
  'activated_path_rules',
  'invoked_skills',
  'blocked_actions',
  'blocked_messages',
  'stats',
  'tags',
  'agent_state',
])

/** Kinds that are not nodes of the tree: they hang on HEAD and never become it. */
const OFF_TREE: ReadonlySet<string> = new Set([
  'ConversationStateUpdateEvent',
  'StreamingDeltaEvent',
  'ServerErrorEvent',
])

export const isTreeNode = (event: Event): boolean => !OFF_TREE.has(event.kind)

export function fold(state: State, event: Event): State {
  const last_event_at = parseTime(event.timestamp) ?? state.last_event_at
  if (event.kind === 'ConversationStateUpdateEvent')
    return FIELDS.has(event.key) ? { ...state, last_event_at, [event.key]: event.value } : { ...state, last_event_at }
  return isTreeNode(event) ? { ...state, last_event_at, leaf_event_id: event.id } : { ...state, last_event_at }
}
