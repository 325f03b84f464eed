import * as z from 'zod'
import { orNull, Success, uuid } from '../common.ts'
import { ConfirmationResponseRequest, EventSortOrder } from '../conversations.ts'
import { Event, EventPage, SendMessageRequest } from '../events.ts'
import { route } from '../route.ts'
import { LARGE_BODY, limit, pageId, params, time } from './shared.ts'

const tag = 'Events'

const filters = {
  /** The name of an event kind; a dotted path before it is ignored. */
  kind: orNull(z.string()),
  source: orNull(z.string()),
  /** Words that must occur in a message, in any case. */
  body: orNull(z.string()),
  timestamp__gte: orNull(time),
  timestamp__lt: orNull(time),
}

export const eventRoutes = {
  searchEvents: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/events/search',
    tag,
    summary: 'List the events of a conversation, in log order',
    access: 'caller',
    confined: true,
    params,
    query: z.object({ page_id: pageId, limit, ...filters, sort_order: EventSortOrder.default('TIMESTAMP') }),
    responses: { 200: EventPage },
    errors: ['conversation_not_found'],
  }),
  countEvents: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/events/count',
    tag,
    summary: 'Count the events of a conversation',
    access: 'caller',
    confined: true,
    params,
    query: z.object(filters),
    responses: { 200: z.int() },
    errors: ['conversation_not_found'],
  }),
  streamEvents: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/events/stream',
    tag,
    summary: 'Follow a conversation as server-sent events, from the start or after an event',
    access: 'caller',
    confined: true,
    params,
    query: z.object({ after: orNull(z.string()) }),
    headers: z.object({ 'last-event-id': z.string().optional() }),
    responses: { 200: { raw: 'text/event-stream' } },
    errors: ['conversation_not_found', 'event_not_found'],
  }),
  getEvent: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/events/{event_id}',
    tag,
    summary: 'Get an event',
    access: 'caller',
    confined: true,
    params: z.object({ conversation_id: uuid(), event_id: z.string() }),
    responses: { 200: Event },
    errors: ['conversation_not_found', 'event_not_found'],
  }),
  batchEvents: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/events',
    tag,
    summary: 'Get several events, named in the query or in a JSON body; null for those that do not exist',
    access: 'caller',
    confined: true,
    params,
    query: z.object({ ids: z.array(z.string()).max(100).optional() }),
    body: z.array(z.string()).max(100),
    bodyOptional: true,
    responses: { 200: z.array(Event.nullable()) },
    errors: ['conversation_not_found'],
  }),
  sendMessage: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/events',
    tag,
    summary: 'Send a message, and with `run` have the agent work on it',
    access: 'caller',
    confined: true,
    params,
    body: SendMessageRequest,
    bodyLimit: LARGE_BODY,
    responses: { 200: Success },
    errors: ['conversation_not_found'],
  }),
  respondToConfirmation: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/events/respond_to_confirmation',
    tag,
    summary: 'Accept or reject a pending action in confirmation mode',
    access: 'caller',
    confined: true,
    params,
    body: ConfirmationResponseRequest,
    responses: { 200: Success },
    errors: ['conversation_not_found'],
  }),
}
