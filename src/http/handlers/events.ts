import { fault } from '../../api/errors.ts'
import { Event } from '../../api/events.ts'
import { withNulls } from '../../api/nulls.ts'
import type { eventRoutes } from '../../api/routes/events.ts'
import type { Control } from '../../conversation/control.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { Events } from '../../conversation/events.ts'
import { Plain } from '../reply.ts'
import type { Handlers } from '../server.ts'
import { eventStream } from '../sse.ts'
import type { Streams } from '../stream.ts'

const complete = (event: Event): Event => withNulls(Event, event) as Event

export const eventHandlers = (
  conversations: Conversations,
  control: Control,
  events: Events,
  streams: Streams,
): Handlers<typeof eventRoutes> => ({
  searchEvents: async ({ params, query }, { scope }) => {
    const { page_id, limit, sort_order, ...filters } = query
    const record = await conversations.record(params.conversation_id, scope)
    const backward = sort_order === 'TIMESTAMP_DESC'
    const { items, next } = await events.search(record, filters, { id: page_id, limit, backward })
    return new Plain('application/json', `{"items":[${items.join(',')}],"next_page_id":${JSON.stringify(next)}}`)
  },
  countEvents: async ({ params, query }, { scope }) =>
    events.count(await conversations.record(params.conversation_id, scope), query),
  streamEvents: async ({ params, query, headers }, { scope }) => {
    const record = await conversations.record(params.conversation_id, scope)
    const id = headers['last-event-id'] || query.after || undefined
    const seq = id ? await events.positionOf(record, id) : 0
    return eventStream(sink => streams.follow(record.id, record.no, { seq, id }, sink))
  },
  getEvent: async ({ params }, { scope }) => {
    const record = await conversations.record(params.conversation_id, scope)
    const [event] = await events.byId(record, [params.event_id])
    if (!event) throw fault('event_not_found', params.event_id)
    return complete(event)
  },
  batchEvents: async ({ params, query, body }, { scope }) => {
    const record = await conversations.record(params.conversation_id, scope)
    const found = await events.byId(record, body ?? query.ids ?? [])
    return found.map(event => (event ? complete(event) : null))
  },
  sendMessage: async ({ params, body }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    await conversations.send(params.conversation_id, body)
    return { success: true }
  },
  respondToConfirmation: async ({ params, body }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    await control.answer(params.conversation_id, body)
    return { success: true }
  },
})
