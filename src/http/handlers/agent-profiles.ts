import type { agentProfileRoutes } from '../../api/routes/agent-profiles.ts'
import type { AgentProfiles } from '../../settings/agent-profiles.ts'
import type { Handlers } from '../server.ts'

export const agentProfileHandlers = (profiles: AgentProfiles): Handlers<typeof agentProfileRoutes> => ({
  listAgentProfiles: () => profiles.list(),
  getAgentProfile: async ({ params }) => ({ name: params.name, profile: await profiles.get(params.name) }),
  saveAgentProfile: ({ params, body }) => profiles.save(params.name, body),
  deleteAgentProfile: ({ params }) => profiles.delete(params.name),
  renameAgentProfile: ({ params, body }) => profiles.rename(params.name, body.new_name),
  activateAgentProfile: ({ params }) => profiles.activate(params.profile_id),
  materializeAgentProfile: ({ params }) => profiles.materialize(params.name),
})
