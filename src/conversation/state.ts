import { createHash } from 'node:crypto'
import type { OpenAction } from '../agent/book.ts'
import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { ActionEvent, Event } from '../api/events.ts'
import type { ConversationStats, Metrics } from '../api/llm.ts'
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
  /** The actions without a result, in call order. Nothing shows it. */
  open: OpenAction[]
  /** What the user said since the open actions wait for an answer; `run` when it asked for a run. Nothing shows it. */
  meanwhile: 'message' | 'run' | null
  /** When the last event was made. The next one is made later, whatever the clock says. */
  last_event_at: Micros
}

/** Of all that decides what an action does: what was approved is what runs. */
export const hashOf = ({ tool_name, action }: Pick<ActionEvent, 'tool_name' | 'action'>): string =>
  createHash('sha256')
    .update(JSON.stringify([tool_name, action]))
    .digest('base64url')

/** What HEAD is before the first event of a new root, in a log that has another one already. */
export const ROOT = '__root__'

/** Whether there is nothing on the branch yet. */
export const isBare = ({ leaf_event_id }: State): boolean => leaf_event_id === null || leaf_event_id === ROOT

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
  open: [],
  meanwhile: null,
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

export const isTreeNode = (event: Pick<Event, 'kind'>): boolean => !OFF_TREE.has(event.kind)

export function fold(state: State, event: Event): State {
  const last_event_at = parseTime(event.timestamp) ?? state.last_event_at
  if (event.kind === 'ConversationStateUpdateEvent') return { ...state, last_event_at, ...updated(state, event) }
  if (!isTreeNode(event)) return { ...state, last_event_at }
  return { ...state, last_event_at, leaf_event_id: event.id, open: openAfter(state.open, event) }
}

function updated(state: State, { key, value }: { key: string; value?: unknown }): Partial<State> {
  if (!FIELDS.has(key)) return {}
  if (key === 'stats') return { stats: withLists(state.stats, value as ConversationStats) }
  // Whatever is open when the run stops to ask, is asked.
  const open =
    value === 'waiting_for_confirmation' ? state.open.map(one => ({ ...one, stand: 'asked' as const })) : null
  return { [key]: value, ...(open && { open, meanwhile: null }) }
}

/** An action counts as begun until something says otherwise: nothing that may have had effects is run again. */
function openAfter(open: OpenAction[], event: Event): OpenAction[] {
  switch (event.kind) {
    case 'ActionEvent': {
      if (!event.action) return open
      const { id, tool_call_id: call, tool_name: tool } = event
      return [...open, { id, call, tool, hash: hashOf(event), stand: 'begun' }]
    }
    case 'ObservationEvent':
    case 'UserRejectObservation':
      return open.filter(({ id }) => id !== event.action_id)
    case 'AgentErrorEvent':
      return open.filter(({ call }) => call !== event.tool_call_id)
    default:
      return open
  }
}

/** The event carries sums; the lists of single calls stand beside the log. */
function withLists(old: ConversationStats, sums: ConversationStats): ConversationStats {
  const entries = Object.entries(sums.usage_to_metrics).map(([id, metrics]): [string, Metrics] => {
    const { costs = [], response_latencies = [], token_usages = [] } = old.usage_to_metrics[id] ?? {}
    return [id, { ...metrics, costs, response_latencies, token_usages }]
  })
  return { usage_to_metrics: Object.fromEntries(entries) }
}
