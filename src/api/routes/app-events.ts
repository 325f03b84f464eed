import * as z from 'zod'
import { orNull, uuid } from '../common.ts'
import { EventSortOrder } from '../conversations.ts'
import { Event, EventPage } from '../events.ts'
import { type RouteSpec, route } from '../route.ts'
import { limit, pageId, params, time } from './shared.ts'

const tag = 'App events'

const filters = { kind__eq: orNull(z.string()), timestamp__gte: orNull(time), timestamp__lt: orNull(time) }
const search = z.object({ page_id: pageId, limit, ...filters, sort_order: EventSortOrder.default('TIMESTAMP') })
const count = z.object(filters)
const batch = z.object({ id: z.array(z.string()).min(1).max(100) })
/** The conversation stood in the query before it stood in the path. */
const named = { conversation_id__eq: uuid() }

const common = {
  method: 'GET',
  tag,
  access: 'caller',
  errors: ['conversation_not_found'],
} as const satisfies Partial<RouteSpec>

export const appEventRoutes = {
  searchAppEvents: route({
    ...common,
    path: '/api/v1/conversation/{conversation_id}/events/search',
    summary: 'List the events of a conversation, in log order',
    params,
    query: search,
    responses: { 200: EventPage },
  }),
  countAppEvents: route({
    ...common,
    path: '/api/v1/conversation/{conversation_id}/events/count',
    summary: 'Count the events of a conversation',
    params,
    query: count,
    responses: { 200: z.int() },
  }),
  batchAppEvents: route({
    ...common,
    path: '/api/v1/conversation/{conversation_id}/events',
    summary: 'Get several events; null for those that do not exist',
    params,
    query: batch,
    responses: { 200: z.array(Event.nullable()) },
  }),
  searchNamedEvents: route({
    ...common,
    path: '/api/v1/events/search',
    summary: 'List the events of a conversation, in log order',
    query: search.extend(named),
    responses: { 200: EventPage },
  }),
  countNamedEvents: route({
    ...common,
    path: '/api/v1/events/count',
    summary: 'Count the events of a conversation',
    query: count.extend(named),
    responses: { 200: z.int() },
  }),
  batchNamedEvents: route({
    ...common,
    path: '/api/v1/events',
    summary: 'Get several events; null for those that do not exist',
    query: batch.extend(named),
    responses: { 200: z.array(Event.nullable()) },
  }),
}
