import { AgentSettings } from '../api/agent.ts'
import type { OpenHandsAgentProfile } from '../api/agent-profiles.ts'
import type { LLM } from '../api/llm.ts'
import type { MCPServer } from '../api/mcp.ts'

type Servers = Readonly<Record<string, MCPServer>>

/** Of the servers that are configured, those that a profile wants; and what it names that is not among them. */
export function serversFor(
  refs: readonly string[] | null,
  configured: Servers,
): { servers: Servers; dangling: string[] } {
  if (refs === null) return { servers: configured, dangling: [] }
  const servers = Object.entries(configured).filter(([key]) => refs.includes(key))
  return { servers: Object.fromEntries(servers), dangling: refs.filter(key => !Object.hasOwn(configured, key)) }
}

export interface ProfileParts {
  llm: LLM
  servers: Servers
  /** For the critic, should the profile want one. */
  criticKey: string | null
}

/** The settings that a profile comes to, with all skills but those it leaves out. Secrets stay as they are in its parts. */
export function settingsFrom(profile: OpenHandsAgentProfile, { llm, servers, criticKey }: ProfileParts): AgentSettings {
  const { agent, tools, condenser, verification, system_message_suffix, disabled_skills } = profile
  const { enable_sub_agents, enable_switch_llm_tool, tool_concurrency_limit } = profile
  return AgentSettings.parse({
    agent_kind: 'openhands',
    llm: { ...llm, stream: true },
    mcp_config: servers,
    agent_context: { system_message_suffix, disabled_skills, load_user_skills: true, load_project_skills: true },
    verification: { ...verification, critic_api_key: criticKey },
    agent,
    tools,
    condenser,
    enable_sub_agents,
    enable_switch_llm_tool,
    tool_concurrency_limit,
  })
}
