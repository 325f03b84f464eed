import type { subAgentRoutes } from '../../api/routes/sub-agents.ts'
import type { SubAgents } from '../../library/sub-agents.ts'
import type { Handlers } from '../server.ts'

export const subAgentHandlers = (subAgents: SubAgents): Handlers<typeof subAgentRoutes> => ({
  listSubAgents: ({ body }, { scope }) => subAgents.list(body, scope),
})
