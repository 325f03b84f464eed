import * as z from 'zod'
import { ToolAnnotations } from './actions.ts'
import { anyMap, orNull, strings, textOrNull } from './common.ts'
import { Condenser, CondenserSettings, condenserFromSettings } from './condenser.ts'
import { Critic, criticFromSettings, VerificationSettings } from './critic.ts'
import { HookConfig } from './hooks.ts'
import { LLM } from './llm.ts'
import { mcpServers } from './mcp.ts'
import { AgentContext } from './skills.ts'

export const Tool = z.object({ name: z.string().min(1), params: anyMap.default({}) }).meta({ id: 'Tool' })
export type Tool = z.output<typeof Tool>

/** A tool that the client runs. */
export const ClientToolSpec = z
  .object({
    name: z.string().min(1),
    description: z.string(),
    parameters: anyMap
      .refine(schema => schema.type === 'object', { error: 'The parameters must be a JSON schema of type object' })
      .default({ type: 'object', properties: {} }),
    annotations: orNull(ToolAnnotations),
  })
  .meta({ id: 'ClientToolSpec' })
export type ClientToolSpec = z.output<typeof ClientToolSpec>

const PROMPT_FILE = 'system_prompt.j2'

const fields = {
  tools: z.array(Tool).default([]),
  mcp_config: mcpServers.default({}),
  filter_tools_regex: textOrNull,
  include_default_tools: z.array(z.string()).default(['FinishTool', 'ThinkTool']),
  agent_context: orNull(AgentContext),
  system_prompt: textOrNull,
  system_prompt_filename: z.string().default(PROMPT_FILE),
  security_policy_filename: z.string().default('security_policy.j2'),
  system_prompt_kwargs: anyMap.overwrite(given => ({ llm_security_analyzer: true, ...given })).prefault({}),
  condenser: orNull(Condenser),
  critic: orNull(Critic),
  tool_concurrency_limit: z.int().min(1).default(1),
}

const onePrompt = (agent: { system_prompt: string | null; system_prompt_filename: string }) =>
  agent.system_prompt === null || agent.system_prompt_filename === PROMPT_FILE
const twoPrompts = { error: 'system_prompt and system_prompt_filename exclude each other', path: ['system_prompt'] }

export const Agent = z
  .object({ llm: LLM, ...fields, kind: z.literal('Agent').optional().default('Agent') })
  .refine(onePrompt, twoPrompts)
  .meta({ id: 'Agent' })
export type Agent = z.output<typeof Agent>

export const ACPFileSecretSpec = z
  .object({
    secret_name: z.string().min(1),
    filename: z.string().min(1),
    env_var: z.string().min(1),
    subdir: z.string().min(1),
    env_points_to: z.enum(['dir', 'file']).default('file'),
    warn_if_unset: strings,
  })
  .meta({ id: 'ACPFileSecretSpec' })

/** An agent that is another program, spoken to by the Agent Client Protocol. */
export const ACPAgent = z
  .object({
    llm: LLM.prefault({}),
    ...fields,
    acp_command: z.array(z.string()),
    acp_server: textOrNull,
    acp_args: strings,
    acp_session_mode: textOrNull,
    acp_prompt_timeout: z.number().default(1800),
    acp_startup_timeout: z.number().default(90),
    acp_model: textOrNull,
    acp_resume_session_id: textOrNull,
    acp_file_secrets: z.array(ACPFileSecretSpec).default([]),
    acp_isolate_data_dir: z.boolean().default(false),
    kind: z.literal('ACPAgent'),
  })
  .refine(onePrompt, twoPrompts)
  .meta({ id: 'ACPAgent' })
export type ACPAgent = z.output<typeof ACPAgent>

export const AnyAgent = z.discriminatedUnion('kind', [Agent, ACPAgent]).meta({ id: 'AgentBase' })
export type AnyAgent = z.output<typeof AnyAgent>

/** A sub-agent. */
export const AgentDefinition = z
  .object({
    name: z.string(),
    description: z.string().default(''),
    model: z.string().default('inherit'),
    color: textOrNull,
    tools: strings,
    skills: strings,
    system_prompt: z.string().default(''),
    source: textOrNull,
    level: orNull(z.enum(['project', 'user', 'builtin', 'plugin', 'programmatic'])),
    when_to_use_examples: strings,
    hooks: orNull(HookConfig),
    permission_mode: textOrNull,
    max_iteration_per_run: orNull(z.int().gt(0)),
    max_budget_per_run: orNull(z.number().gt(0)),
    mcp_config: orNull(mcpServers),
    profile_store_dir: textOrNull,
    condenser: orNull(Condenser),
    metadata: anyMap.default({}),
  })
  .meta({ id: 'AgentDefinition' })
export type AgentDefinition = z.output<typeof AgentDefinition>

const schemaVersion = () => z.int().min(1)

/** `llm` is what `openhands` was called before. */
const openhandsKind = z.codec(z.enum(['openhands', 'llm']), z.literal('openhands'), {
  decode: () => 'openhands' as const,
  encode: kind => kind,
})

export const OpenHandsAgentSettings = z
  .object({
    schema_version: schemaVersion().default(5),
    agent_kind: openhandsKind.optional().default('openhands'),
    agent: z.string().default('CodeActAgent'),
    llm: LLM.prefault({}),
    tools: orNull(z.array(Tool)),
    enable_sub_agents: z.boolean().default(false),
    enable_switch_llm_tool: z.boolean().default(true),
    tool_concurrency_limit: z.int().min(1).default(1),
    mcp_config: mcpServers.default({}),
    agent_context: AgentContext.prefault({}),
    condenser: CondenserSettings.prefault({}),
    verification: VerificationSettings.prefault({}),
  })
  .meta({ id: 'OpenHandsAgentSettings' })
export type OpenHandsAgentSettings = z.output<typeof OpenHandsAgentSettings>

export const ACPAgentSettings = z
  .object({
    schema_version: schemaVersion().default(5),
    agent_kind: z.literal('acp'),
    acp_server: z.enum(['claude-code', 'codex', 'gemini-cli', 'custom']).default('claude-code'),
    acp_command: strings,
    acp_args: strings,
    acp_model: textOrNull,
    acp_session_mode: textOrNull,
    acp_prompt_timeout: z.number().gt(0).default(1800),
    acp_startup_timeout: z.number().gt(0).default(90),
    mcp_config: mcpServers.default({}),
    acp_isolate_data_dir: z.boolean().default(false),
    acp_file_secrets: z.array(ACPFileSecretSpec).default([]),
    llm: LLM.prefault({}),
    agent_context: orNull(AgentContext),
  })
  .meta({ id: 'ACPAgentSettings' })
export type ACPAgentSettings = z.output<typeof ACPAgentSettings>

export const AgentSettings = z
  .discriminatedUnion('agent_kind', [OpenHandsAgentSettings, ACPAgentSettings])
  .meta({ id: 'AgentSettings' })
export type AgentSettings = z.output<typeof AgentSettings>

export const ConversationSettings = z
  .object({
    schema_version: schemaVersion().default(1),
    max_iterations: z.int().min(1).default(500),
    confirmation_mode: z.boolean().default(false),
    security_analyzer: z.enum(['llm', 'none']).nullable().default('llm'),
  })
  .meta({ id: 'ConversationSettings' })
export type ConversationSettings = z.output<typeof ConversationSettings>

const DEFAULT_TOOLS = ['terminal', 'file_editor', 'task_tracker']

/** The agent that settings describe. Tools that are listed are taken as they are. */
export function agentFromSettings(settings: AgentSettings): AnyAgent {
  if (settings.agent_kind === 'acp') {
    const { schema_version, agent_kind, ...fields } = settings
    return ACPAgent.parse({ ...fields, kind: 'ACPAgent' } satisfies z.input<typeof ACPAgent>)
  }
  const { llm, mcp_config, agent_context, tool_concurrency_limit } = settings
  const names = settings.enable_sub_agents ? [...DEFAULT_TOOLS, 'task_tool_set'] : DEFAULT_TOOLS
  return Agent.parse({
    llm,
    mcp_config,
    agent_context,
    tool_concurrency_limit,
    tools: settings.tools ?? names.map(name => ({ name })),
    include_default_tools: ['FinishTool', 'ThinkTool', ...(settings.enable_switch_llm_tool ? ['SwitchLLMTool'] : [])],
    condenser: condenserFromSettings(settings.condenser, llm),
    critic: criticFromSettings(settings.verification),
  } satisfies z.input<typeof Agent>)
}
