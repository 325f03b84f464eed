import * as z from 'zod'
import { joinKits, type Kit } from '../agent/kit.ts'
import { AgentDefinition, type AnyAgent } from '../api/agent.ts'
import type { PluginSource, StartConversationRequest } from '../api/conversations.ts'
import { mcpServers } from '../api/mcp.ts'
import { AgentContext, Skill } from '../api/skills.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Order, Skills } from './order.ts'

/** Finds what an order names, and has it lie where the conversation works. `pinned`: the very versions that were found. */
export type LoadPlugins = (
  sources: readonly PluginSource[],
  destination: { sandbox: string; egress?: StartConversationRequest['egress'] },
) => Promise<{ kits: Kit[]; pinned: PluginSource[] }>

/** An order with what its plugins bring, as if it had been written there. */
export function equipped<R extends StartConversationRequest>(
  request: R,
  agent: AnyAgent,
  { kits, pinned }: Awaited<ReturnType<LoadPlugins>>,
): { request: R; agent: AnyAgent } {
  if (kits.length === 0) return { request, agent }
  const { hook_config, agent_definitions } = request
  const context = agent.agent_context ?? AgentContext.parse({})
  const own = { skills: context.skills, mcp_config: agent.mcp_config, hook_config, agent_definitions }
  const kit = joinKits(own, kits)
  return {
    request: {
      ...request,
      plugins: pinned,
      hook_config: kit.hook_config,
      agent_definitions: [...kit.agent_definitions],
    },
    agent: { ...agent, mcp_config: kit.mcp_config, agent_context: { ...context, skills: [...kit.skills] } },
  }
}

/** The same for a conversation that is on record. */
export function reequipped(order: Order, skills: Skills, kit: Kit, vault: Vault): { order: Order; skills: Skills } {
  const { agent, hook_config, options } = order
  const own = { skills, mcp_config: agent.mcp_config, hook_config, agent_definitions: options.agent_definitions }
  const sealed: Kit = {
    skills: vault.sealAll(z.array(Skill), [...kit.skills]),
    mcp_config: vault.sealAll(mcpServers, { ...kit.mcp_config }),
    hook_config: kit.hook_config,
    agent_definitions: vault.sealAll(z.array(AgentDefinition), [...kit.agent_definitions]),
  }
  const joined = joinKits(own, [sealed])
  return {
    order: {
      ...order,
      agent: { ...agent, mcp_config: joined.mcp_config },
      hook_config: joined.hook_config,
      options: { ...options, agent_definitions: [...joined.agent_definitions] },
    },
    skills: [...joined.skills],
  }
}
