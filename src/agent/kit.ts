import type { AgentDefinition } from '../api/agent.ts'
import { type HookConfig, hookStages } from '../api/hooks.ts'
import type { MCPServer } from '../api/mcp.ts'
import type { Skill } from '../api/skills.ts'

/** What an agent can be given beside its model and its tools. A plugin is a kit with a name. */
export interface Kit {
  skills: readonly Skill[]
  mcp_config: Readonly<Record<string, MCPServer>>
  hook_config: HookConfig | null
  agent_definitions: readonly AgentDefinition[]
}

/** All of them together. Of skills and servers with one name the later kit's is taken, of sub-agents the earlier's; hooks add up. */
export const joinKits = (own: Kit, more: readonly Kit[]): Kit => more.reduce(join, own)

const join = (a: Kit, b: Kit): Kit => ({
  skills: [...a.skills.filter(skill => !has(b.skills, skill)), ...b.skills],
  mcp_config: { ...a.mcp_config, ...b.mcp_config },
  hook_config:
    a.hook_config && b.hook_config ? joinHooks(a.hook_config, b.hook_config) : (a.hook_config ?? b.hook_config),
  agent_definitions: [...a.agent_definitions, ...b.agent_definitions.filter(one => !has(a.agent_definitions, one))],
})

const has = (all: readonly { name: string }[], { name }: { name: string }): boolean =>
  all.some(one => one.name === name)

const joinHooks = (a: HookConfig, b: HookConfig): HookConfig =>
  Object.fromEntries(Object.values(hookStages).map(stage => [stage, [...a[stage], ...b[stage]]])) as HookConfig
