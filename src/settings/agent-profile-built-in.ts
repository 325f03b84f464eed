import type { AgentSettings } from '../api/agent.ts'
import { AgentProfile } from '../api/agent-profiles.ts'

/**
 * Pages start no conversation unless an agent profile is active. So one is always there, and active where nobody chose another: what
 * the settings say, under this name and id. It is made of them whenever it is read, so that it never lags behind them. A stored
 * profile of the same name hides it, and is then meant by its id too.
 */
export const DEFAULT = 'default'
export const DEFAULT_ID = '00000000-0000-4000-8000-000000000001'

/** `llm`: the name of the active LLM profile. */
export function builtInAgentProfile(settings: AgentSettings, llm: string): AgentProfile {
  const identity = { id: DEFAULT_ID, name: DEFAULT, revision: 0 }
  if (settings.agent_kind === 'acp') {
    const { acp_server, acp_model, acp_session_mode, acp_prompt_timeout, acp_startup_timeout, acp_command, acp_args } =
      settings
    return AgentProfile.parse({
      ...identity,
      agent_kind: 'acp',
      acp_server,
      acp_model,
      acp_session_mode,
      acp_prompt_timeout,
      acp_startup_timeout,
      acp_command: acp_command.join(' ') || null,
      acp_args: acp_args.length > 0 ? acp_args : null,
    })
  }
  const { agent, tools, condenser, verification, agent_context } = settings
  const { enable_sub_agents, enable_switch_llm_tool, tool_concurrency_limit } = settings
  return AgentProfile.parse({
    ...identity,
    llm_profile_ref: llm,
    agent,
    tools,
    system_message_suffix: agent_context.system_message_suffix,
    disabled_skills: agent_context.disabled_skills,
    condenser,
    verification,
    enable_sub_agents,
    enable_switch_llm_tool,
    tool_concurrency_limit,
  })
}
