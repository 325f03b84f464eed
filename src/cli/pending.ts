import type { Client } from '../api/client.ts'
import type { ActionEvent } from '../api/events.ts'
import { outcomeOf } from './events.ts'

/** What waits is among the last: an answer of a model wants far fewer actions at once. */
const LOOK_BACK = 100

/** The actions of a conversation that have no result, in the order they were wanted. */
export async function pendingActions(client: Client, conversation_id: string): Promise<ActionEvent[]> {
  const query = { limit: LOOK_BACK, sort_order: 'TIMESTAMP_DESC' as const }
  const { items } = await client.searchEvents({ params: { conversation_id }, query })
  const answered = new Set(items.map(event => outcomeOf(event)?.of))
  const isOpen = ({ id, tool_call_id }: ActionEvent) => !answered.has(id) && !answered.has(tool_call_id)
  return items
    .filter(event => event.kind === 'ActionEvent')
    .filter(isOpen)
    .reverse()
}
