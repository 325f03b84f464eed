import { anyMap } from '../common.ts'
import { InitStatus } from '../init.ts'
import { route } from '../route.ts'

const base = { path: '/api/init', tag: 'Init', access: 'free', responses: { 200: InitStatus } } as const

/** Of servers that are started to wait for their configuration. This one has it when it starts, and says so. */
export const initRoutes = {
  getInitStatus: route({
    ...base,
    method: 'GET',
    summary: 'This server was not started to wait for its configuration: always 404',
    errors: ['not_found'],
  }),
  initialize: route({
    ...base,
    method: 'POST',
    summary: 'This server was not started to wait for its configuration: always 404, and nothing is changed',
    body: anyMap,
    bodyOptional: true,
    errors: ['not_found'],
  }),
}
