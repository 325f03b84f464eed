import type { McpProbes } from '../../agent/mcp/probes.ts'
import type { mcpProbeRoutes } from '../../api/routes/mcp-probes.ts'
import type { Handlers } from '../server.ts'

export const mcpProbeHandlers = (probes: McpProbes): Handlers<typeof mcpProbeRoutes> => ({
  testMcp: ({ body }, { scope }) => probes.test(body, scope),
  startMcpLogin: ({ body }, { scope }) => probes.startLogin(body, scope),
  mcpLoginStatus: ({ params }) => probes.loginStatus(params.job_id),
  finishMcpLogin: ({ params, body }) => probes.finishLogin(params.job_id, body.callback_url),
})
