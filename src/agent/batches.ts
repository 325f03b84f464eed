import type { ActionEvent, Event } from '../api/events.ts'

/** The actions of one answer of a model, with their results. */
export interface Batch {
  actions: ActionEvent[]
  /** Beside the actions; undefined while there is none. */
  results: (Event | undefined)[]
  /** Where it begins and ends. Other events may stand in between. */
  first: number
  last: number
  isAnswered: boolean
}

/** In the order of their first actions. Results of actions that are not there belong to none. Linear. */
export function batchesOf(events: readonly Event[]): Batch[] {
  const batches = new Map<string, Batch>()
  const waiting = new Map<string, { batch: Batch; place: number }>()
  for (const [i, event] of events.entries()) {
    if (event.kind === 'ActionEvent') {
      const batch = batches.get(event.llm_response_id) ?? {
        actions: [],
        results: [],
        first: i,
        last: i,
        isAnswered: false,
      }
      batches.set(event.llm_response_id, batch)
      const place = batch.actions.push(event) - 1
      batch.results.push(undefined)
      batch.last = i
      // An error names the call alone. Ids of calls may come again in a later answer: the last one counts.
      for (const key of [`action ${event.id}`, `call ${event.tool_call_id}`]) waiting.set(key, { batch, place })
    } else {
      const found = waiting.get(answeredBy(event) ?? '')
      if (!found) continue
      found.batch.results[found.place] ??= event
      found.batch.last = i
    }
  }
  for (const batch of batches.values()) batch.isAnswered = !batch.results.includes(undefined)
  return [...batches.values()]
}

function answeredBy(event: Event): string | undefined {
  if (event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation') return `action ${event.action_id}`
  return event.kind === 'AgentErrorEvent' ? `call ${event.tool_call_id}` : undefined
}
