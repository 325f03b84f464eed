import { type AgentSettings, type AnyAgent, agentFromSettings } from '../api/agent.ts'
import type { LaunchedAgentProfile, StartConversationRequest } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'

/** What an agent profile comes to, with secrets as they are. `trusted`: with what brings secrets that others entered, too. */
export type LaunchProfile = (
  profile: string,
  trusted: boolean,
) => Promise<{ settings: AgentSettings; launched: LaunchedAgentProfile }>

/** The agent that an order describes, or names by its profile. */
export async function chosenAgent(
  { agent, agent_settings, agent_profile_id }: StartConversationRequest,
  trusted: boolean,
  launch: LaunchProfile,
): Promise<{ agent: AnyAgent; launched?: LaunchedAgentProfile }> {
  if (agent) return { agent }
  if (agent_settings) return { agent: agentFromSettings(agent_settings) }
  if (!agent_profile_id) throw fault('invalid_request', 'One of agent, agent_settings and agent_profile_id is needed')
  const { settings, launched } = await launch(agent_profile_id, trusted)
  return { agent: agentFromSettings(settings), launched }
}
