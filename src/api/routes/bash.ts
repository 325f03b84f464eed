import * as z from 'zod'
import {
  BashCommand,
  BashEvent,
  BashEventPage,
  BashEventSortOrder,
  BashOutput,
  ClearedEvents,
  ExecuteBashRequest,
} from '../bash.ts'
import { orNull, Success, uuid } from '../common.ts'
import { route } from '../route.ts'
import { limit, pageId, time } from './shared.ts'

const tag = 'Bash'
const ids = z.array(z.string()).max(100)
const starting = ['sandbox_unavailable', 'sandbox_failed', 'command_limit'] as const

export const bashRoutes = {
  searchBashEvents: route({
    method: 'GET',
    path: '/api/bash/bash_events/search',
    tag,
    summary: 'List commands and their output, in the order they came',
    access: 'caller',
    confined: true,
    query: z.object({
      kind__eq: orNull(z.enum(['BashCommand', 'BashOutput'])),
      command_id__eq: orNull(uuid()),
      timestamp__gte: orNull(time),
      timestamp__lt: orNull(time),
      /** Outputs with a higher `order`; commands have none and pass. */
      order__gt: orNull(z.int()),
      sort_order: BashEventSortOrder.default('TIMESTAMP'),
      page_id: pageId,
      limit,
    }),
    responses: { 200: BashEventPage },
  }),
  batchBashEvents: route({
    method: 'GET',
    path: '/api/bash/bash_events/',
    tag,
    summary: 'Get several, named in the query or in a JSON body; null for those that do not exist',
    access: 'caller',
    confined: true,
    query: z.object({ ids: ids.optional() }),
    body: ids,
    bodyOptional: true,
    responses: { 200: z.array(BashEvent.nullable()) },
  }),
  getBashEvent: route({
    method: 'GET',
    path: '/api/bash/bash_events/{event_id}',
    tag,
    summary: 'Get a command or one of its outputs',
    access: 'caller',
    confined: true,
    params: z.object({ event_id: z.string() }),
    responses: { 200: BashEvent },
    errors: ['event_not_found'],
  }),
  clearBashEvents: route({
    method: 'DELETE',
    path: '/api/bash/bash_events',
    tag,
    summary: 'Forget the commands that have ended, and their output',
    access: 'caller',
    confined: true,
    responses: { 200: ClearedEvents },
  }),
  startBashCommand: route({
    method: 'POST',
    path: '/api/bash/start_bash_command',
    tag,
    summary: 'Start a command; what it prints is told as it comes',
    access: 'caller',
    confined: true,
    body: ExecuteBashRequest,
    responses: { 200: BashCommand },
    errors: starting,
  }),
  executeBashCommand: route({
    method: 'POST',
    path: '/api/bash/execute_bash_command',
    tag,
    summary: 'Run a command to its end, and get all that it printed',
    access: 'caller',
    confined: true,
    body: ExecuteBashRequest,
    responses: { 200: BashOutput },
    errors: starting,
  }),
  cancelBashCommand: route({
    method: 'POST',
    path: '/api/bash/commands/{command_id}/cancel',
    tag,
    summary: 'End a command with all that it started; `success` is false when it had ended already',
    access: 'caller',
    confined: true,
    params: z.object({ command_id: uuid() }),
    responses: { 200: Success },
    errors: ['command_not_found'],
  }),
}
