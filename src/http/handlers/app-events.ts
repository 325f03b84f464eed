import { Event } from '../../api/events.ts'
import { withNulls } from '../../api/nulls.ts'
import type { appEventRoutes } from '../../api/routes/app-events.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { EventFilters, Events } from '../../conversation/events.ts'
import { Plain } from '../reply.ts'
import type { Handlers } from '../server.ts'

interface Filters {
  kind__eq: string | null
  timestamp__gte: string | null
  timestamp__lt: string | null
}
interface Search extends Filters {
  page_id: string | null
  limit: number
  sort_order: string
}

export const appEventHandlers = (conversations: Conversations, events: Events): Handlers<typeof appEventRoutes> => {
  const search = async (id: string, { page_id, limit, sort_order, ...filters }: Search) => {
    const record = await conversations.record(id)
    const page = { id: page_id, limit, backward: sort_order === 'TIMESTAMP_DESC' }
    const { items, next } = await events.search(record, filtersOf(filters), page)
    return new Plain('application/json', `{"items":[${items.join(',')}],"next_page_id":${JSON.stringify(next)}}`)
  }
  const count = async (id: string, filters: Filters) => events.count(await conversations.record(id), filtersOf(filters))
  const batch = async (id: string, ids: string[]) => {
    const found = await events.byId(await conversations.record(id), ids)
    return found.map(event => (event ? (withNulls(Event, event) as Event) : null))
  }
  return {
    searchAppEvents: ({ params, query }) => search(params.conversation_id, query),
    countAppEvents: ({ params, query }) => count(params.conversation_id, query),
    batchAppEvents: ({ params, query }) => batch(params.conversation_id, query.id),
    searchNamedEvents: ({ query }) => search(query.conversation_id__eq, query),
    countNamedEvents: ({ query }) => count(query.conversation_id__eq, query),
    batchNamedEvents: ({ query }) => batch(query.conversation_id__eq, query.id),
  }
}

const filtersOf = ({ kind__eq, timestamp__gte, timestamp__lt }: Filters): EventFilters => ({
  kind: kind__eq,
  source: null,
  body: null,
  timestamp__gte,
  timestamp__lt,
})
