import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as z from 'zod'
import * as actions from '../../src/api/actions.ts'
import * as agents from '../../src/api/agent.ts'
import * as common from '../../src/api/common.ts'
import * as condenser from '../../src/api/condenser.ts'
import * as conversations from '../../src/api/conversations.ts'
import * as critic from '../../src/api/critic.ts'
import * as events from '../../src/api/events.ts'
import * as hooks from '../../src/api/hooks.ts'
import * as llm from '../../src/api/llm.ts'
import * as mcp from '../../src/api/mcp.ts'
import * as observations from '../../src/api/observations.ts'
import { mapSecrets } from '../../src/api/secret.ts'
import * as secrets from '../../src/api/secrets.ts'
import * as security from '../../src/api/security.ts'
import * as skills from '../../src/api/skills.ts'

const { AgentSettings, AnyAgent, Agent, agentFromSettings } = agents
const { ConversationInfo, StartConversationRequest } = conversations
const { Event } = events

const accepts = (schema: z.ZodType, value: unknown) => {
  const result = schema.safeParse(value)
  assert.ok(result.success, result.success ? '' : z.prettifyError(result.error))
}
const rejects = (schema: z.ZodType, value: unknown, message?: RegExp) => {
  const result = schema.safeParse(value)
  assert.ok(!result.success, 'accepted')
  if (message) assert.match(JSON.stringify(result.error.issues), message)
}
const unchanged = (schema: z.ZodType, value: unknown) => assert.deepEqual(schema.parse(value), value)

const text = (text: string) => ({ cache_prompt: false, type: 'text', text })
const envelope = { id: 'e-2', timestamp: '2026-03-01T10:00:00.100000', source: 'agent', parent_id: 'e-1' }
const call = { id: 'call-1', name: 'terminal', arguments: '{"command":"ls"}', origin: 'completion' }
const workspace = { working_dir: '/w' }
const start = { agent: { llm: { model: 'openai/m' } }, workspace }

describe('every schema', () => {
  const modules = [actions, agents, common, condenser, conversations, critic, events, hooks, llm, mcp, observations]
  const schemas = Object.fromEntries(
    [...modules, secrets, security, skills].flatMap(module =>
      Object.entries(module).filter((entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType),
    ),
  )
  for (const io of ['input', 'output'] as const)
    test(`has a JSON schema as ${io}, and no two share a name`, () => {
      for (const [name, schema] of Object.entries(schemas))
        assert.doesNotThrow(() => z.toJSONSchema(schema, { io }), name)
      assert.doesNotThrow(() => z.toJSONSchema(z.object(schemas), { io }))
    })

  test('has the same JSON schema each time', () => {
    const once = () => JSON.stringify(z.toJSONSchema(z.object(schemas), { io: 'input' }))
    assert.equal(once(), once())
  })

  test('gives each reader defaults of its own', () => {
    const [one, other] = [Agent.parse(start.agent), Agent.parse(start.agent)]
    one.tools.push({ name: 'x', params: {} })
    one.llm.litellm_extra_body.x = 1
    assert.deepEqual([other.tools, other.llm.litellm_extra_body], [[], {}])
  })
})

describe('ids', () => {
  const dashed = '0f8fad5b-d9cb-469f-a165-70867728950e'
  test('a UUID is read dashed and in lower case, however it is written', () => {
    assert.equal(common.uuid().parse(dashed.toUpperCase()), dashed)
    assert.equal(common.uuid().parse(dashed.replaceAll('-', '')), dashed)
  })
  test('what is no UUID is refused as one', () => {
    const issue = common.uuid().safeParse('xyz').error?.issues[0]
    assert.equal(issue?.message, 'Input should be a valid UUID')
    assert.deepEqual(issue?.code === 'custom' && issue.params, { type: 'uuid_parsing' })
  })
})

describe('messages', () => {
  test('a part without a type is what its fields say', () => {
    assert.deepEqual(common.Content.parse({ text: 'hi' }), text('hi'))
    assert.equal(common.Content.parse({ image_urls: ['https://x/y.png'] }).type, 'image')
  })
  test('a part with an unknown key is refused', () => {
    rejects(common.Content, { type: 'text', text: 'hi', extra: 1 }, /extra/)
    rejects(common.Content, { type: 'image', image_urls: [], extra: 1 }, /extra/)
  })
  test('a message over REST may leave everything out, but its content is a list', () => {
    assert.deepEqual(events.SendMessageRequest.parse({}), { role: 'user', content: [], run: false })
    rejects(events.SendMessageRequest, { content: 'hi' })
  })
  test('a message over the socket needs a role and may be plain text', () => {
    const message = { role: 'user', content: [text('hi')] }
    assert.deepEqual(events.SocketMessage.parse({ role: 'user', content: 'hi' }), message)
    assert.deepEqual(events.SocketMessage.parse({ ...message, run: true }), message)
    rejects(events.SocketMessage, { content: 'hi' }, /role/)
  })
  test('a boolean is neither a string nor a number', () => {
    rejects(events.SendMessageRequest, { run: 'true' })
    rejects(events.SendMessageRequest, { run: 1 })
  })
})

describe('events', () => {
  const action = {
    ...envelope,
    thought: [text('I will look.')],
    thinking_blocks: [],
    action: { command: 'ls', is_input: false, reset: false, kind: 'TerminalAction' },
    tool_name: 'terminal',
    tool_call_id: 'call-1',
    tool_call: call,
    llm_response_id: 'r-1',
    security_risk: 'UNKNOWN',
    summary: 'listing',
    kind: 'ActionEvent',
  }
  const metadata = { exit_code: 0, pid: -1, username: 'u', hostname: 'h', working_dir: '/w', prefix: '', suffix: '' }
  const result = { tool_name: 'terminal', tool_call_id: 'call-1', action_id: 'e-1' }
  const classification = { kind: 'agent_action', retryable: true, user_action: 'retry' }
  const bare = (kind: string, fields: object = {}) => ({ ...envelope, ...fields, kind })
  const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
  const tool = { description: 'd', action_type: 'TerminalAction', observation_type: 'TerminalObservation', annotations }
  const samples = [
    action,
    bare('SystemPromptEvent', {
      system_prompt: text('You are …'),
      tools: [
        { ...tool, kind: 'TerminalTool', title: 'terminal' },
        { ...tool, mcp_tool: { name: 'm', inputSchema: {} }, kind: 'MCPToolDefinition', title: 'm' },
        { ...tool, client_tool_name: 'c', input_schema: {}, kind: 'ClientTool', title: 'c' },
      ],
    }),
    bare('MessageEvent', {
      llm_message: { role: 'user', content: [text('go')], thinking_blocks: [] },
      activated_skills: [],
      extended_content: [],
    }),
    bare('ObservationEvent', {
      ...result,
      observation: {
        content: [text('README.md')],
        is_error: false,
        command: 'ls',
        exit_code: 0,
        timeout: false,
        metadata,
        kind: 'TerminalObservation',
      },
      extended_content: [],
    }),
    bare('AgentErrorEvent', { tool_name: 't', tool_call_id: 'c', error: 'no such tool', classification }),
    bare('UserRejectObservation', { ...result, rejection_reason: 'no', rejection_source: 'user' }),
    bare('ConversationStateUpdateEvent', { key: 'execution_status', value: 'running' }),
    bare('ConversationStateUpdateEvent', { key: 'security_analyzer' }),
    bare('ConversationErrorEvent', { code: 'MaxIterationsReached', detail: 'd', classification }),
    bare('PauseEvent'),
    bare('InterruptEvent'),
    bare('Condensation', { forgotten_event_ids: ['e-0'], summary: 's', summary_offset: 2, llm_response_id: 'r' }),
    bare('CondensationRequest'),
    bare('CondensationSummaryEvent', { summary: 's' }),
    bare('StreamingDeltaEvent', { content: 'Hel' }),
    bare('TokenEvent', { prompt_token_ids: [1], response_token_ids: [2] }),
    bare('LLMCompletionLogEvent', { filename: 'f', log_data: '{}', model_name: 'm', usage_id: 'u' }),
    bare('HookExecutionEvent', {
      hook_event_type: 'PreToolUse',
      hook_command: './guard.sh',
      success: false,
      blocked: true,
      exit_code: 2,
      stdout: '',
      stderr: '',
    }),
    bare('ACPToolCallEvent', { tool_call_id: 't', title: 'Edit', raw_input: { a: 1 }, is_error: false }),
    bare('ServerErrorEvent', { code: 'JSONDecodeError', detail: 'd' }),
  ]

  test('of every kind pass unchanged', () => {
    for (const sample of samples) unchanged(Event, sample)
    assert.deepEqual(new Set(samples.map(sample => sample.kind)), new Set(events.EventKind))
    assert.equal(events.EventKind.length, 19)
  })
  test('may show their null fields', () => {
    unchanged(Event, { ...action, reasoning_content: null, critic_result: null, responses_reasoning_item: null })
  })
  test('of every kind are refused with a key more', () => {
    for (const sample of samples) rejects(Event, { ...sample, seq: 1 }, /seq/)
  })
  test('are refused with a key more in an action or an observation', () => {
    rejects(Event, { ...action, action: { ...action.action, extra: 1 } }, /extra/)
    rejects(observations.Observation, { content: [], is_error: false, extra: 1, kind: 'FinishObservation' }, /extra/)
  })
  test('of an unknown kind are refused', () => rejects(Event, bare('FancyEvent'), /kind/))
  test("a client tool's action has the arguments as its fields", () => {
    unchanged(actions.Action, { city: 'Ulm', days: [1, 2], kind: 'ClientAction_weather' })
    rejects(actions.Action, { city: 'Ulm', kind: 'WeatherAction' })
  })
  test('an action without arguments that were understood has no action', () => {
    const { action: _, ...rest } = action
    unchanged(Event, rest)
  })
})

describe('agents', () => {
  test('an agent without kind but with llm is an Agent', () => {
    const agent = AnyAgent.parse({ llm: {} })
    assert.equal(agent.kind, 'Agent')
    assert.deepEqual(agent.include_default_tools, ['FinishTool', 'ThinkTool'])
    assert.deepEqual(agent.system_prompt_kwargs, { llm_security_analyzer: true })
  })
  test('an agent without kind and llm is refused for the missing llm', () => rejects(AnyAgent, {}, /"llm"/))
  test('an ACP agent must say so', () => {
    accepts(AnyAgent, { kind: 'ACPAgent', acp_command: ['x'] })
    rejects(AnyAgent, { acp_command: ['x'] })
    rejects(AnyAgent, { kind: 'OtherAgent', llm: {} }, /kind/)
  })
  test('unknown keys of an agent and its llm are ignored', () => {
    const agent = AnyAgent.parse({ llm: { model: 'm', fancy: 1 }, name: 'x' })
    assert.ok(!('name' in agent) && !('fancy' in agent.llm))
  })
  test('an agent as we show it is read back unchanged', () => {
    const agent = Agent.parse({ llm: { model: 'm' }, agent_context: { skills: [{ name: 's', content: 'c' }] } })
    unchanged(AnyAgent, agent)
  })
  test('the bounds of llm fields hold', () => {
    for (const bad of [{ top_p: 1.1 }, { timeout: -1 }, { max_output_tokens: 0 }, { num_retries: 1.5 }, { stream: 1 }])
      rejects(llm.LLM, bad)
    accepts(llm.LLM, { timeout: null, reasoning_effort: null, temperature: 0 })
  })
  test('whether an llm is a subscription follows from auth_type alone', () => {
    assert.equal(llm.LLM.parse({ is_subscription: true }).is_subscription, false)
    assert.equal(llm.LLM.parse({ auth_type: 'subscription' }).is_subscription, true)
  })
  test('a system prompt excludes a file of one', () => {
    accepts(AnyAgent, { llm: {}, system_prompt: 'p' })
    rejects(AnyAgent, { llm: {}, system_prompt: 'p', system_prompt_filename: 'mine.j2' }, /system_prompt/)
  })
  test('a context without a time gets the present one, and null stays null', () => {
    assert.match(skills.AgentContext.parse({}).current_datetime ?? '', /^\d{4}-.*Z$/)
    assert.equal(skills.AgentContext.parse({ current_datetime: null }).current_datetime, null)
  })
  test('a trigger without a type is what its field says', () => {
    assert.equal(skills.Trigger.parse({ triggers: ['/x'] }).type, 'task')
    assert.equal(skills.Trigger.parse({ paths: ['*.ts'] }).type, 'path')
  })
  test('a pipeline of condensers may hold a pipeline', () => {
    const inner = { kind: 'PipelineCondenser', condensers: [{ kind: 'NoOpCondenser' }] }
    accepts(AnyAgent, { llm: {}, condenser: { kind: 'PipelineCondenser', condensers: [inner] } })
    rejects(AnyAgent, { llm: {}, condenser: { kind: 'PipelineCondenser', condensers: [{ kind: 'X' }] } })
  })
})

describe('MCP servers', () => {
  test('unknown keys are refused, and with them the wrapped form', () => {
    rejects(mcp.MCPServer, { command: 'x', fancy: 1 }, /fancy/)
    rejects(AnyAgent, { llm: {}, mcp_config: { mcpServers: { a: { command: 'x' } } } })
  })
  test('a server is a command or a url', () => {
    accepts(mcp.MCPServer, { command: 'x', url: null })
    rejects(mcp.MCPServer, {})
    rejects(mcp.MCPServer, { command: 'x', url: 'http://y' })
  })
  test('a patch may remove a variable', () => accepts(mcp.MCPServerPatch, { env: { A: null, B: 'b' }, url: null }))
})

describe('hooks', () => {
  const stop = [{ matcher: '*', hooks: [{ command: './x.sh' }] }]
  test('may be written in PascalCase and inside hooks', () => {
    const plain = hooks.HookConfig.parse({ stop })
    assert.deepEqual(Object.keys(plain), Object.values(hooks.hookStages))
    assert.equal(plain.stop[0]?.hooks[0]?.timeout, 60)
    for (const written of [{ Stop: stop }, { hooks: { Stop: stop } }, { hooks: { stop } }, plain])
      assert.deepEqual(hooks.HookConfig.parse(written), plain)
  })
  test('are refused with an unknown stage, a stage given twice, or keys beside hooks', () => {
    rejects(hooks.HookConfig, { Halt: stop }, /Halt/)
    rejects(hooks.HookConfig, { hooks: { Halt: stop } }, /Halt/)
    rejects(hooks.HookConfig, { Stop: stop, stop })
    rejects(hooks.HookConfig, { hooks: { stop }, Stop: stop })
  })
  test('a command hook needs a command, a prompt hook does not', () => {
    rejects(hooks.HookConfig, { stop: [{ hooks: [{}] }] }, /command/)
    accepts(hooks.HookConfig, { stop: [{ hooks: [{ type: 'prompt', prompt: 'Done?' }] }] })
  })
})

describe('agent settings', () => {
  const agent = (settings: object) => agentFromSettings(AgentSettings.parse(settings))
  const toolNames = (settings: object) => agent(settings).tools.map(tool => tool.name)

  test('without a kind, and of the legacy kind llm, are openhands', () => {
    assert.equal(AgentSettings.parse({}).agent_kind, 'openhands')
    assert.equal(AgentSettings.parse({ agent_kind: 'llm' }).agent_kind, 'openhands')
    rejects(AgentSettings, { agent_kind: 'fancy' })
  })
  test('as we show them are read back unchanged', () => {
    unchanged(AgentSettings, AgentSettings.parse({ llm: { model: 'm' } }))
    unchanged(AgentSettings, AgentSettings.parse({ agent_kind: 'acp' }))
    unchanged(agents.ConversationSettings, agents.ConversationSettings.parse({}))
  })
  test('give the default tools, sub-agents if asked, or exactly the tools listed', () => {
    assert.deepEqual(toolNames({}), ['terminal', 'file_editor', 'task_tracker'])
    assert.deepEqual(toolNames({ enable_sub_agents: true }).at(-1), 'task_tool_set')
    assert.deepEqual(toolNames({ tools: [{ name: 'glob' }], enable_sub_agents: true }), ['glob'])
  })
  test('give the tool that switches the model unless told not to', () => {
    assert.deepEqual(agent({}).include_default_tools, ['FinishTool', 'ThinkTool', 'SwitchLLMTool'])
    assert.deepEqual(agent({ enable_switch_llm_tool: false }).include_default_tools, ['FinishTool', 'ThinkTool'])
  })
  test("give a condenser that uses the agent's model, unless it is switched off", () => {
    const built = agent({ llm: { model: 'm' }, condenser: { max_size: 100 } }).condenser
    assert.ok(built?.kind === 'LLMSummarizingCondenser')
    assert.deepEqual([built.llm.model, built.max_size, built.keep_first], ['m', 100, 2])
    assert.equal(agent({ condenser: { enabled: false } }).condenser, null)
    assert.equal(agent({ condenser: { condenser_kind: 'no_op' } }).condenser?.kind, 'NoOpCondenser')
  })
  test("give a critic only with a key of its own: the model's key goes nowhere else", () => {
    const enabled = { critic_enabled: true, enable_iterative_refinement: true, critic_threshold: 0.9 }
    const built = agent({ verification: { ...enabled, critic_api_key: 'k' } }).critic
    assert.ok(built?.kind === 'APIBasedCritic')
    assert.deepEqual([built.api_key, built.model_name], ['k', 'critic'])
    assert.deepEqual(built.iterative_refinement, { success_threshold: 0.9, max_iterations: 3 })
    assert.equal(agent({ llm: { api_key: 'k' }, verification: enabled }).critic, null)
  })
  test('for ACP give an ACPAgent', () => {
    const built = agent({ agent_kind: 'acp', acp_command: ['x'], acp_model: 'm' })
    assert.ok(built.kind === 'ACPAgent')
    assert.deepEqual([built.acp_command, built.acp_server, built.acp_model], [['x'], 'claude-code', 'm'])
  })
})

describe('policies and analyzers', () => {
  test('UNKNOWN is no threshold', () => {
    const policy = security.ConfirmationPolicy.parse({ kind: 'ConfirmRisky' })
    assert.deepEqual(policy, { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true })
    rejects(security.ConfirmationPolicy, { kind: 'ConfirmRisky', threshold: 'UNKNOWN' })
  })
  test('an unknown policy is refused, as is one without a kind', () => {
    rejects(security.ConfirmationPolicy, { kind: 'SometimesConfirm' })
    rejects(security.ConfirmationPolicy, {})
    rejects(security.ConfirmationPolicy, { type: 'always' })
  })
  test('an ensemble holds at least one analyzer, and may hold ensembles', () => {
    const ensemble = (...analyzers: object[]) => ({ kind: 'EnsembleSecurityAnalyzer', analyzers })
    accepts(security.SecurityAnalyzer, ensemble(ensemble({ kind: 'PolicyRailSecurityAnalyzer' })))
    rejects(security.SecurityAnalyzer, ensemble())
    rejects(security.SecurityAnalyzer, ensemble(ensemble({ kind: 'X' })))
  })
  test('setting an analyzer needs the key, which may be null', () => {
    accepts(conversations.SetSecurityAnalyzerRequest, { security_analyzer: null })
    rejects(conversations.SetSecurityAnalyzerRequest, {})
  })
  test('an answer to a confirmation needs a boolean, and has a reason by default', () => {
    const answer = conversations.ConfirmationResponseRequest
    assert.deepEqual(answer.parse({ accept: false }), { accept: false, reason: 'User rejected the action.' })
    for (const accept of [undefined, null, 'true', 1]) rejects(answer, { accept })
  })
})

describe('starting a conversation', () => {
  test('as the npm client writes it', () => {
    const request = StartConversationRequest.parse({
      agent: { kind: 'Agent', llm: { model: 'm', api_key: 'k' } },
      initial_message: { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      max_iterations: 500,
      stuck_detection: true,
      workspace: { type: 'local', working_dir: '/w' },
      hook_config: null,
      user_id: null,
    })
    assert.deepEqual(request.workspace, { working_dir: '/w', kind: 'LocalWorkspace' })
    assert.deepEqual(request.confirmation_policy, { kind: 'NeverConfirm' })
    assert.equal(request.initial_message?.run, false)
  })
  test('as a web page writes it', () => {
    const request = StartConversationRequest.parse({
      conversation_id: '0F8FAD5BD9CB469FA16570867728950E',
      agent_settings: { llm: { model: 'm' }, agent_context: { skills: [{ name: 's', content: 'c' }] } },
      secrets_encrypted: true,
      secrets: { TOKEN: { kind: 'LookupSecret', url: '/api/settings/secrets/TOKEN', headers: { 'X-Key': 'k' } } },
      workspace: { kind: 'LocalWorkspace', working_dir: '/w' },
      client_tools: [{ name: 'show', description: 'd', parameters: { type: 'object', properties: {} } }],
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
      tags: { clientsource: 'page' },
    })
    assert.equal(request.conversation_id, '0f8fad5b-d9cb-469f-a165-70867728950e')
    assert.equal(request.agent_settings?.agent_kind, 'openhands')
  })
  test('needs an agent, its settings or a profile, and a profile excludes the others', () => {
    const profile = { agent_profile_id: '0f8fad5b-d9cb-469f-a165-70867728950e' }
    accepts(StartConversationRequest, { ...profile, workspace })
    accepts(StartConversationRequest, { ...start, agent_settings: {} })
    rejects(StartConversationRequest, { workspace }, /is needed/)
    rejects(StartConversationRequest, { ...start, ...profile }, /excludes/)
    rejects(StartConversationRequest, { agent_settings: {}, ...profile, workspace }, /excludes/)
  })
  test('needs a workspace, and says why a remote one will not do', () => {
    rejects(StartConversationRequest, { agent: start.agent }, /"workspace"/)
    rejects(StartConversationRequest, { ...start, workspace: { kind: 'RemoteWorkspace', working_dir: '/w' } }, /Local/)
  })
  test('reads every form of a secret as its source', () => {
    const forms = { A: 'v', B: { value: 'v', description: 'd' }, C: { kind: 'StaticSecret', value: 'v' } }
    const { secrets } = StartConversationRequest.parse({ ...start, secrets: forms })
    const source = { description: null, value: 'v', kind: 'StaticSecret' }
    assert.deepEqual(secrets, { A: source, B: { ...source, description: 'd' }, C: source })
    for (const bad of [{ url: 'http://x' }, { kind: 'Fancy', value: 'v' }, {}, 1, null])
      rejects(conversations.UpdateSecretsRequest, { secrets: { A: bad } })
  })
  test('refuses two client tools of one name, and parameters that are no object', () => {
    const tool = { name: 'show', description: 'd' }
    accepts(StartConversationRequest, { ...start, client_tools: [tool] })
    rejects(StartConversationRequest, { ...start, client_tools: [tool, tool] }, /two client tools/)
    rejects(StartConversationRequest, { ...start, client_tools: [{ ...tool, parameters: { type: 'array' } }] })
  })
  test('keeps the bounds of tags, launch additions and observability', () => {
    for (const bad of [
      { tags: { Key: 'v' } },
      { tags: { key: 'v'.repeat(257) } },
      { agent_launch_additions: { fancy: 1 } },
      { agent_launch_additions: { system_message_suffix_append: 'x'.repeat(32_769) } },
      { observability_tags: [''] },
      { observability_span_name: 'a b' },
      { observability_metadata: { mixed: ['a', 1] } },
      { max_iterations: 0 },
    ])
      rejects(StartConversationRequest, { ...start, ...bad })
    accepts(StartConversationRequest, { ...start, observability_metadata: { a: 'x', b: [1, 2.5], c: [true] } })
  })
  test('ignores what it does not know', () => accepts(StartConversationRequest, { ...start, fancy: 1 }))
})

describe('conversations', () => {
  const usage = {
    model: 'm',
    prompt_tokens: 11,
    completion_tokens: 7,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    context_window: 0,
    per_turn_token: 18,
    response_id: '',
  }
  const metrics = {
    model_name: 'm',
    accumulated_cost: 0.1,
    max_budget_per_task: null,
    accumulated_token_usage: usage,
    costs: [{ model: 'm', cost: 0.1, timestamp: 1772359200.5 }],
    response_latencies: [{ model: 'm', latency: 0.2, response_id: 'r' }],
    token_usages: [{ ...usage, response_id: 'r' }],
  }

  test('are shown with all their fields', () => {
    unchanged(ConversationInfo, {
      id: '0f8fad5b-d9cb-469f-a165-70867728950e',
      workspace: { working_dir: '/w', kind: 'LocalWorkspace' },
      persistence_dir: null,
      max_iterations: 500,
      stuck_detection: true,
      execution_status: 'waiting_for_confirmation',
      confirmation_policy: { kind: 'AlwaysConfirm' },
      security_analyzer: null,
      activated_knowledge_skills: [],
      invoked_skills: [],
      blocked_actions: {},
      blocked_messages: {},
      last_user_message_id: 'e-1',
      leaf_event_id: 'e-2',
      stats: { usage_to_metrics: { default: metrics } },
      secret_registry: { secret_sources: { A: { description: null, value: null, kind: 'StaticSecret' } } },
      agent_state: {},
      hook_config: null,
      title: 'T',
      metrics: null,
      created_at: '2026-03-01T10:00:00.100000Z',
      updated_at: '2026-03-01T10:00:00.200000Z',
      forked_from_conversation_id: null,
      forked_from_event_id: null,
      parent_conversation_id: null,
      sub_conversation_ids: [],
      tags: { a: 'b' },
      current_model_id: null,
      available_models: [],
      supports_runtime_model_switch: false,
      launched_agent_profile: null,
      agent: Agent.parse(start.agent),
      client_tools: [],
    })
  })
  test('take a title of 1 to 200 characters after trimming, or none', () => {
    const update = conversations.UpdateConversationRequest
    assert.deepEqual(update.parse({ title: `  ${'t'.repeat(200)} ` }), { title: 't'.repeat(200) })
    assert.deepEqual(update.parse({}), {})
    for (const title of ['', '   ', 't'.repeat(201), 1]) rejects(update, { title })
    rejects(update, { tags: { 'a-b': 'c' } })
  })
})

describe('secrets', () => {
  const found = (schema: z.ZodType, value: unknown) => {
    const at: string[] = []
    mapSecrets(schema, schema.parse(value), (plain, path) => {
      at.push(`${path.join('.')}=${plain}`)
      return plain
    })
    return at.sort()
  }

  test('of an agent are all reached', () => {
    const agent = {
      llm: {
        api_key: '1',
        aws_access_key_id: '2',
        aws_secret_access_key: '3',
        aws_session_token: '4',
        extra_headers: { 'X-A': '5' },
      },
      condenser: {
        kind: 'PipelineCondenser',
        condensers: [{ kind: 'LLMSummarizingCondenser', llm: { api_key: '6' } }],
      },
      critic: { kind: 'APIBasedCritic', api_key: '7' },
      mcp_config: {
        a: { command: 'x', env: { E: '8' } },
        b: { url: 'http://b', headers: { H: '9' }, auth: { strategy: 'bearer', value: '10' } },
        c: { url: 'http://c', auth: { strategy: 'basic', username: 'u', password: '11' } },
        d: { url: 'http://d', auth: { strategy: 'header', headers: { K: '12' } } },
        e: {
          url: 'http://e',
          auth: {
            strategy: 'oauth2',
            authentication: { type: 'oauth', client_secret: '13' },
            state: {
              tokens: { access_token: '14', refresh_token: '15', scope: 's' },
              client_info: { client_secret: '16', client_id: 'i' },
            },
          },
        },
        f: { url: 'http://f', auth: { strategy: 'api_key', value: '17' } },
      },
      agent_context: {
        secrets: {
          S: '18',
          T: { kind: 'StaticSecret', value: '19' },
          L: { kind: 'LookupSecret', url: '/x', headers: { Authorization: '20' } },
        },
        skills: [{ name: 's', content: 'c', mcp_tools: { a: { command: 'x', env: { E: '21' } } } }],
      },
    }
    const expected = [
      'agent_context.secrets.L.headers.Authorization=20',
      'agent_context.secrets.S=18',
      'agent_context.secrets.T.value=19',
      'agent_context.skills.0.mcp_tools.a.env.E=21',
      'condenser.condensers.0.llm.api_key=6',
      'critic.api_key=7',
      'llm.api_key=1',
      'llm.aws_access_key_id=2',
      'llm.aws_secret_access_key=3',
      'llm.aws_session_token=4',
      'llm.extra_headers.X-A=5',
      'mcp_config.a.env.E=8',
      'mcp_config.b.auth.value=10',
      'mcp_config.b.headers.H=9',
      'mcp_config.c.auth.password=11',
      'mcp_config.d.auth.headers.K=12',
      'mcp_config.e.auth.authentication.client_secret=13',
      'mcp_config.e.auth.state.client_info.client_secret=16',
      'mcp_config.e.auth.state.tokens.access_token=14',
      'mcp_config.e.auth.state.tokens.refresh_token=15',
      'mcp_config.f.auth.value=17',
    ]
    assert.deepEqual(found(Agent, agent), expected)
    assert.deepEqual(found(AnyAgent, agent), expected)
  })
  test('of settings, a start request and an analyzer are all reached', () => {
    assert.deepEqual(found(AgentSettings, { llm: { api_key: '1' }, verification: { critic_api_key: '2' } }), [
      'llm.api_key=1',
      'verification.critic_api_key=2',
    ])
    const request = {
      workspace,
      agent_settings: { agent_kind: 'acp', llm: { api_key: '1' } },
      secrets: { A: '2', B: { value: '3' }, C: { kind: 'LookupSecret', url: '/x', headers: { K: '4' } } },
      security_analyzer: {
        kind: 'EnsembleSecurityAnalyzer',
        analyzers: [
          { kind: 'GraySwanAnalyzer', api_key: '5' },
          { kind: 'ToolShieldLLMSecurityAnalyzer', llm: { api_key: '6' } },
        ],
      },
      agent_definitions: [{ name: 'd', mcp_config: { a: { command: 'x', env: { E: '7' } } } }],
    }
    assert.deepEqual(found(StartConversationRequest, request), [
      'agent_definitions.0.mcp_config.a.env.E=7',
      'agent_settings.llm.api_key=1',
      'secrets.A.value=2',
      'secrets.B.value=3',
      'secrets.C.headers.K=4',
      'security_analyzer.analyzers.0.api_key=5',
      'security_analyzer.analyzers.1.llm.api_key=6',
    ])
  })
  test('of a patch to an MCP server are reached', () => {
    assert.deepEqual(found(mcp.MCPServerPatch, { env: { A: '1', B: null } }), ['env.A=1'])
  })
})
