import type { Draft } from '../api/draft.ts'
import type { Event } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import { formatNaive, type Micros, now } from '../lib/time.ts'
import { fold, type State } from './state.ts'

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
      ...withoutNulls(draft),
      id: draft.id ?? newId(),
      timestamp: formatNaive(at),
      ...(next.leaf_event_id !== null && { parent_id: next.leaf_event_id }),
    } as Event
    events.push(event)
    next = fold(next, event)
  }
  return { events, state: next }
}

/** Parts of an event that have no free-form values in them, where a null could mean something. */
const OWN = new Set(['action', 'observation', 'metadata', 'tool_call', 'llm_message', 'classification'])

/** As events are kept and told: what is null is left out. */
function withoutNulls<T extends object>(part: T): T {
  if ('kind' in part && part.kind === 'ConversationStateUpdateEvent') return part
  const entries = Object.entries(part).flatMap(([key, value]): [string, unknown][] => {
    if (value === null || value === undefined) return []
    return [[key, OWN.has(key) && !isClients(value) ? withoutNulls(value) : value]]
  })
  return Object.fromEntries(entries) as T
}

/** A client's own action has whatever fields its tool has. */
const isClients = (action: { kind?: unknown }): boolean =>
  typeof action.kind === 'string' && action.kind.startsWith('ClientAction_')

/** An event that is told but not kept: snapshots and stream deltas. */
export const unplaced = (draft: Draft): Event =>
  ({ ...withoutNulls(draft), id: newId(), timestamp: formatNaive(now()) }) as Event
