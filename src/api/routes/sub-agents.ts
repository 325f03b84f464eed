import { route } from '../route.ts'
import { SubAgentsRequest, SubAgentsResponse } from '../sub-agents.ts'

export const subAgentRoutes = {
  listSubAgents: route({
    method: 'POST',
    path: '/api/sub-agents',
    tag: 'Sub-agents',
    summary: 'List the sub-agents that a project, the user and the server define',
    access: 'caller',
    confined: true,
    body: SubAgentsRequest,
    responses: { 200: SubAgentsResponse },
    errors: ['outside_workspace', 'permission_denied', 'sandbox_unavailable', 'sandbox_failed'],
  }),
}
