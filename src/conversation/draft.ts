import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { Event } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import { formatNaive, type Micros, now } from '../lib/time.ts'
import { fold, type State } from './state.ts'

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** An event before it has a place in the log. The id may be chosen, where a later draft speaks of it. */
export type Draft = DistributiveOmit<Event, 'id' | 'timestamp' | 'parent_id'> & { id?: string }

/** Gives drafts their ids, times and parents, and folds them. Times strictly increase, whatever the clock does. */
export function place(
  state: State,
  drafts: readonly Draft[],
  clock: () => Micros = now,
): { events: Event[]; state: State } {
  const events: Event[] = []
  let next = state
  for (const draft of drafts) {
    const at = Math.max(clock(), next.last_event_at + 1)
    const event = {
      ...draft,
      id: draft.id ?? newId(),
      timestamp: formatNaive(at),
      ...(next.leaf_event_id !== null && { parent_id: next.leaf_event_id }),
    } as Event
    events.push(event)
    next = fold(next, event)
  }
  return { events, state: next }
}

/** An event that is told but not kept: snapshots and stream deltas. */
export const unplaced = (draft: Draft): Event => ({ ...draft, id: newId(), timestamp: formatNaive(now()) }) as Event

export const stateUpdate = (key: string, value: unknown): Draft => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})

export const statusUpdate = (status: ConversationExecutionStatus): Draft => stateUpdate('execution_status', status)
