import { join } from 'node:path'
import { newId } from '../src/lib/id.ts'
import { formatNaive, type Micros, now } from '../src/lib/time.ts'
import { SqliteStore } from '../src/store/sqlite.ts'
import type { NewConversation, NewEvent } from '../src/store/store.ts'
import { anOrder, TestServer } from '../test/support/server.ts'

/** Fills a data folder directly through the store. Returns the id of the conversation that got the events. */
export async function seed(data: string, conversations: number, events: number): Promise<string> {
  const template = await orderedOnce(data)
  const store = SqliteStore.open(join(data, 'gantry.db'), { synchronous: 'normal' })
  const at = now()
  for (let from = 1; from < conversations; from += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, conversations - from) }, (_, i) => {
        const made = at + from + i
        return store.createConversation({ ...template.conversation, id: newId(), createdAt: made, updatedAt: made }, [])
      }),
    )
  const { no } = (await store.conversations([template.id]))[0]!
  const { status, updatedAt, state } = template.conversation
  for (let from = 0; from < events; from += 500) {
    const slice = Array.from({ length: Math.min(500, events - from) }, (_, i) => anEvent(at + from + i))
    const after = from
    await store.append({ status, updatedAt, state, no, after, head: after + slice.length, events: slice })
  }
  await store.close()
  return template.id
}

/** What the server itself stores for an order. */
async function orderedOnce(data: string): Promise<{ id: string; conversation: NewConversation }> {
  await using server = await TestServer.start({ data })
  const { id } = await server.client.startConversation({ body: anOrder() })
  await server.stop()
  const store = SqliteStore.open(join(data, 'gantry.db'))
  const { no, ...record } = (await store.conversations([id]))[0]!
  const [parts] = await store.conversationParts([no], ['order', 'skills'])
  await store.close()
  return { id, conversation: { ...record, parts: parts! } }
}

/** A tool result of about 2 KB, the size that fills real logs. */
export function anEvent(at: Micros): NewEvent {
  const id = newId()
  const event = {
    kind: 'ObservationEvent',
    id,
    timestamp: formatNaive(at),
    source: 'environment',
    parent_id: newId(),
    tool_name: 'terminal',
    tool_call_id: 'call_1',
    action_id: newId(),
    extended_content: [],
    observation: { kind: 'FinishObservation', content: [{ type: 'text', text: 'x'.repeat(1600) }], is_error: false },
  }
  return { id, kind: event.kind, source: event.source, at, json: JSON.stringify(event) }
}
