import type { SettingsFieldSchema } from '../api/settings.ts'

/** What a form shows of a field and its schema cannot tell. The label follows from the key unless given. */
export interface Detail {
  label?: string
  description?: string
  /** `minor` unless given. */
  prominence?: SettingsFieldSchema['prominence']
  depends_on?: string[]
  /** Whether a form should take any text although the values are few: providers add to them. */
  free?: boolean
}

const condensing = ['condenser.enabled']
const critic = ['verification.critic_enabled']
const refinement = [...critic, 'verification.enable_iterative_refinement']

export const agentDetails: Readonly<Record<string, Detail>> = {
  agent: { prominence: 'major', description: 'The agent class.' },
  tools: { prominence: 'major', description: 'The tools of the agent; the default set when empty.' },
  enable_sub_agents: {
    label: 'Enable sub-agents',
    prominence: 'major',
    description: 'Let the agent hand tasks to agents of its own.',
  },
  enable_switch_llm_tool: {
    label: 'Enable LLM switching tool',
    description: 'Let the agent change to another LLM profile.',
  },
  tool_concurrency_limit: {
    label: 'Parallel tool calls',
    prominence: 'major',
    description: 'How many tools may run at the same time.',
  },
  mcp_config: { label: 'MCP servers', description: 'Tool servers, by name.' },

  'llm.model': { prominence: 'critical', description: 'Written as provider/model.' },
  'llm.api_key': { prominence: 'critical', description: 'The key of the model provider.' },
  'llm.provider_connection_id': { prominence: 'major', description: 'A stored connection to take the key from.' },
  'llm.auth_type': {
    label: 'Authentication',
    prominence: 'critical',
    description: 'Whether to use a key or a subscription.',
  },
  'llm.subscription_vendor': {
    label: 'Subscription provider',
    prominence: 'critical',
    depends_on: ['llm.auth_type'],
    description: 'Whose subscription to use.',
  },
  'llm.base_url': { prominence: 'major', description: 'Where the model is served, if not by its provider.' },
  'llm.timeout': { description: 'Seconds to wait for an answer of the model.' },
  'llm.max_message_chars': { description: 'Longer tool results are cut to this length.' },
  'llm.reasoning_effort': { free: true, description: 'How long the model may think: none, low, medium, high, xhigh.' },
  'llm.usage_id': { description: 'The name under which tokens and cost are counted.' },

  'agent_context.load_memory': {
    label: 'Persistent memory',
    prominence: 'major',
    description: 'Let the agent remember across conversations.',
  },

  'condenser.enabled': {
    label: 'Enable memory condensation',
    prominence: 'critical',
    description: 'Summarise long conversations, so that they fit the model.',
  },
  'condenser.max_size': {
    label: 'Max size',
    depends_on: condensing,
    description: 'Condense when there are more events.',
  },
  'condenser.max_tokens': { label: 'Max tokens', depends_on: condensing, description: 'Condense above this size.' },
  'condenser.keep_first': {
    label: 'Keep first',
    depends_on: condensing,
    description: 'How many of the first events are never condensed.',
  },
  'condenser.minimum_progress': {
    label: 'Minimum progress',
    depends_on: condensing,
    description: 'The least share of events that a condensation must save.',
  },
  'condenser.hard_context_reset_max_retries': { label: 'Hard reset retries', depends_on: condensing },
  'condenser.hard_context_reset_context_scaling': { label: 'Hard reset scaling', depends_on: condensing },

  'verification.critic_enabled': {
    label: 'Enable critic',
    prominence: 'critical',
    description: 'Have the work of the agent judged.',
  },
  'verification.critic_mode': { label: 'Critic mode', depends_on: critic, description: 'What is judged.' },
  'verification.enable_iterative_refinement': {
    label: 'Enable iterative refinement',
    prominence: 'critical',
    depends_on: critic,
    description: 'Let the agent go on while the judgement is below the threshold.',
  },
  'verification.critic_threshold': { label: 'Critic threshold', depends_on: refinement },
  'verification.max_refinement_iterations': { label: 'Max refinement iterations', depends_on: refinement },
  'verification.critic_server_url': { label: 'Critic server URL', depends_on: critic },
  'verification.critic_model_name': { label: 'Critic model name', depends_on: critic },
  'verification.critic_api_key': { prominence: 'critical', depends_on: critic },

  acp_server: { label: 'ACP server', prominence: 'critical', description: 'The program that is the agent.' },
  acp_command: { label: 'ACP command (custom override)', description: 'How to start it, if not in its usual way.' },
  acp_args: { label: 'ACP extra args' },
  acp_model: { label: 'ACP model', prominence: 'critical', description: 'The model it should use.' },
  acp_session_mode: { label: 'ACP session mode' },
  acp_prompt_timeout: { label: 'ACP prompt inactivity timeout (seconds)' },
  acp_startup_timeout: { label: 'ACP startup timeout (seconds)' },
}

export const conversationDetails: Readonly<Record<string, Detail>> = {
  max_iterations: {
    label: 'Max iterations',
    prominence: 'major',
    description: 'How many steps a run may take before it stops.',
  },
  confirmation_mode: {
    label: 'Confirmation mode',
    prominence: 'critical',
    description: 'Ask before an action is carried out.',
  },
  security_analyzer: {
    label: 'Security analyzer',
    prominence: 'major',
    depends_on: ['confirmation_mode'],
    description: 'Who rates the risk of an action.',
  },
}
