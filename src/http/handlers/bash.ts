import { fault } from '../../api/errors.ts'
import type { bashRoutes } from '../../api/routes/bash.ts'
import { hexUuid } from '../../lib/id.ts'
import { parseTime } from '../../lib/time.ts'
import type { Bash } from '../../sandbox/bash.ts'
import type { BashFilters } from '../../sandbox/bash-log.ts'
import { DEFAULT_SANDBOX } from '../../sandbox/sandbox.ts'
import { Plain } from '../reply.ts'
import type { Handlers } from '../server.ts'

const json = (text: string): Plain => new Plain('application/json', text)

export const bashHandlers = (bash: Bash): Handlers<typeof bashRoutes> => ({
  searchBashEvents: async ({ query }, { scope = DEFAULT_SANDBOX }) => {
    const filters: BashFilters = {
      ...(query.kind__eq && { kind: query.kind__eq }),
      ...(query.command_id__eq && { command: hexUuid(query.command_id__eq) }),
      ...(query.order__gt !== null && { afterOrder: query.order__gt }),
      ...(query.timestamp__gte && { since: parseTime(query.timestamp__gte) ?? 0 }),
      ...(query.timestamp__lt && { until: parseTime(query.timestamp__lt) ?? 0 }),
    }
    const backward = query.sort_order === 'TIMESTAMP_DESC'
    const { items, next } = await bash.log.search(scope, filters, { id: query.page_id, limit: query.limit, backward })
    return json(`{"items":[${items.join(',')}],"next_page_id":${JSON.stringify(next)}}`)
  },
  batchBashEvents: async ({ query, body }, { scope = DEFAULT_SANDBOX }) => {
    const found = await bash.log.byId(scope, body ?? query.ids ?? [])
    return json(`[${found.map(event => event ?? 'null').join(',')}]`)
  },
  getBashEvent: async ({ params }, { scope = DEFAULT_SANDBOX }) => {
    const [event] = await bash.log.byId(scope, [params.event_id])
    if (event === undefined) throw fault('event_not_found', params.event_id)
    return json(event)
  },
  clearBashEvents: async (_, { scope = DEFAULT_SANDBOX }) => ({ cleared_count: await bash.log.clear(scope) }),
  startBashCommand: ({ body }, { scope }) => bash.start(scope, body),
  executeBashCommand: ({ body }, { scope }) => bash.execute(scope, body),
  cancelBashCommand: async ({ params }, { scope = DEFAULT_SANDBOX }) => ({
    success: await bash.cancel(scope, hexUuid(params.command_id)),
  }),
})
