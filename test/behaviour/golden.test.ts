import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import { AgentRig, resultsOf, type Talk } from '../support/agent.ts'
import { call, fail, finish, say } from '../support/model-server.ts'

/** What a log is after each scenario that the contract has captured, but for where `stats` stand in it. */

const TOLD = ['Message user', 'S last_user_message_id']
const BEGIN = ['SystemPromptEvent', ...TOLD, 'S running']
const ALWAYS = { confirmation_policy: { kind: 'AlwaysConfirm' } }
const echo = (text: string, more: object = {}) => call('terminal', { command: `echo ${text}`, ...more })
const both = { calls: ['one', 'two'].map(text => ({ name: 'terminal', arguments: { command: `echo ${text}` } })) }

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

/** The log from here on. */
async function since(talk: Talk, known: readonly string[]): Promise<string[]> {
  const notation = await talk.notation()
  assert.deepEqual(notation.slice(0, known.length), known)
  return notation.slice(known.length)
}

const of = <K extends Event['kind']>(events: readonly Event[], kind: K): Extract<Event, { kind: K }>[] =>
  events.filter(event => event.kind === kind) as Extract<Event, { kind: K }>[]

describe('the log of a conversation', { concurrency: 4 }, () => {
  test('a conversation without a message has an empty log', async () => {
    const talk = await rig.begin({ script: [] })
    assert.equal(await talk.status(), 'idle')
    assert.deepEqual(await talk.notation(), [])
  })

  test('a tool, then finish', async () => {
    const talk = await rig.begin({
      say: 'list the files',
      script: [echo('hello', { summary: 'says it' }), finish('done')],
    })
    await talk.comesTo('finished')
    assert.deepEqual(await talk.notation(), [
      ...BEGIN,
      'Action terminal',
      'Observation terminal',
      'Action finish',
      'Observation finish',
      'S finished',
    ])
    const events = await talk.events()
    const [action, end] = of(events, 'ActionEvent')
    const [observation] = of(events, 'ObservationEvent')
    assert.deepEqual(action!.action, { kind: 'TerminalAction', command: 'echo hello', is_input: false, reset: false })
    assert.equal(action!.summary, 'says it')
    assert.equal(action!.security_risk, 'UNKNOWN')
    assert.equal(observation!.action_id, action!.id)
    assert.equal(observation!.tool_call_id, action!.tool_call_id)
    assert.equal(end!.summary, 'finish: {"message":"done"}')
    assert.equal(of(events, 'ConversationStateUpdateEvent').filter(({ key }) => key === 'stats').length, 2)
  })

  test('every event names the tree node before it as its parent, and state updates are no nodes', async () => {
    const talk = await rig.begin({ say: 'go', script: [echo('hello'), finish()] })
    await talk.comesTo('finished')
    let head: string | undefined
    for (const event of await talk.events()) {
      assert.equal(event.parent_id, head, event.kind)
      if (event.kind !== 'ConversationStateUpdateEvent') head = event.id
    }
  })

  test('a plain answer ends the run, and a second message makes it go on', async () => {
    const talk = await rig.begin({ say: 'hello', script: [say('Hello.'), say('Again.')] })
    await talk.comesTo('finished')
    const first = [...BEGIN, 'Message agent', 'S finished']
    assert.deepEqual(await talk.notation(), first)
    await talk.say('and now?')
    await talk.comesTo('finished')
    assert.deepEqual(await since(talk, first), ['S idle', ...TOLD, 'S running', 'Message agent', 'S finished'])
  })

  test('a message without run waits for one', async () => {
    const talk = await rig.begin({ script: [say('Hello.')] })
    assert.equal(await talk.say('hello', false), 200)
    assert.equal(await talk.status(), 'idle')
    assert.deepEqual(await talk.notation(), ['SystemPromptEvent', ...TOLD])
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    assert.deepEqual(await talk.notation(), [...BEGIN, 'Message agent', 'S finished'])
  })

  test('two parallel calls of AlwaysConfirm wait together, and run in order once accepted', async () => {
    const talk = await rig.begin({ say: 'go', script: [both, echo('three')], ...ALWAYS })
    await talk.comesTo('waiting_for_confirmation')
    const asked = [...BEGIN, 'Action terminal', 'Action terminal', 'S waiting_for_confirmation']
    assert.deepEqual(await talk.notation(), asked)
    assert.equal(await talk.answer(true), 200)
    await talk.comesTo('waiting_for_confirmation')
    const then = ['S running', 'Observation terminal', 'Observation terminal', 'Action terminal']
    assert.deepEqual(await since(talk, asked), [...then, 'S waiting_for_confirmation'])
    const events = await talk.events()
    const [one, two] = of(events, 'ActionEvent')
    assert.equal(one!.llm_response_id, two!.llm_response_id)
    assert.deepEqual(
      of(events, 'ObservationEvent').map(({ action_id }) => action_id),
      [one!.id, two!.id],
    )
  })

  test('only the first of several actions carries what the model thought', async () => {
    const turn = { ...both, text: 'I shall do both.', reasoning: 'both are needed' }
    const talk = await rig.begin({ say: 'go', script: [turn, finish()] })
    await talk.comesTo('finished')
    const [one, two] = of(await talk.events(), 'ActionEvent')
    assert.deepEqual(one!.thought, [{ type: 'text', text: 'I shall do both.', cache_prompt: false }])
    assert.equal(one!.reasoning_content, 'both are needed')
    assert.deepEqual([two!.thought, two!.thinking_blocks, two!.reasoning_content], [[], [], undefined])
  })

  test('a rejection makes it idle, and nothing happens until the client runs it again', async () => {
    const talk = await rig.begin({ say: 'go', script: [both, say('Then not.')], ...ALWAYS })
    await talk.comesTo('waiting_for_confirmation')
    const asked = await talk.notation()
    assert.equal(await talk.answer(false, { reason: 'too risky' }), 200)
    assert.deepEqual(await since(talk, asked), ['S idle', 'Reject user', 'Reject user'])
    assert.equal(await talk.status(), 'idle')
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    const [rejection] = of(await talk.events(), 'UserRejectObservation')
    assert.equal(rejection!.rejection_reason, 'too risky')
    const told = talk.questions.at(-1)!.messages.filter(({ role }) => role === 'tool')
    assert.equal(told.length, 2)
    for (const { content } of told) assert.match(JSON.stringify(content), /reject.*too risky/i)
  })

  test('ConfirmRisky with the model as judge runs what is LOW at once, and asks for what is HIGH', async () => {
    const script = [echo('low', { security_risk: 'LOW' }), echo('high', { security_risk: 'HIGH' })]
    const risky = { confirmation_policy: { kind: 'ConfirmRisky' }, security_analyzer: { kind: 'LLMSecurityAnalyzer' } }
    const talk = await rig.begin({ say: 'go', script, ...risky })
    await talk.comesTo('waiting_for_confirmation')
    const expected = ['Action terminal', 'Observation terminal', 'Action terminal', 'S waiting_for_confirmation']
    assert.deepEqual(await talk.notation(), [...BEGIN, ...expected])
    const risks = of(await talk.events(), 'ActionEvent').map(({ security_risk }) => security_risk)
    assert.deepEqual(risks, ['LOW', 'HIGH'])
  })

  test('an interrupt during a tool gives the call a result, and then says so', async () => {
    const talk = await rig.begin({ say: 'go', script: [call('terminal', { command: 'sleep 60' })] })
    await talk.shows('Action terminal')
    assert.equal(await talk.post('interrupt'), 200)
    const ended = ['Action terminal', 'Error terminal', 'S paused', 'InterruptEvent']
    assert.deepEqual(await talk.notation(), [...BEGIN, ...ended])
    assert.equal(await talk.status(), 'paused')
  })

  test('an interrupt during a model call ends that at once', async () => {
    const talk = await rig.begin({ say: 'go', script: [say('never', { stall: 'before' }), say('Here I am.')] })
    await talk.asks(1)
    assert.equal(await talk.post('interrupt'), 200)
    assert.deepEqual(await talk.notation(), [...BEGIN, 'S paused', 'InterruptEvent'])
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
  })

  test('an interrupt or a pause of what rests is a pause, and of what is paused nothing', async () => {
    for (const how of ['pause', 'interrupt']) {
      const talk = await rig.begin({ script: [] })
      for (const status of [200, 200]) assert.equal(await talk.post(how), status)
      assert.deepEqual(await talk.notation(), ['S paused', 'PauseEvent'])
    }
  })

  test('max_iterations ends in an error, and a run begins to count anew', async () => {
    const script = [echo('one'), echo('two'), echo('three'), finish()]
    const talk = await rig.begin({ say: 'go', script, max_iterations: 2 })
    await talk.comesTo('error')
    const pair = ['Action terminal', 'Observation terminal']
    const first = [...BEGIN, ...pair, ...pair, 'S error', 'ConversationError MaxIterationsReached']
    assert.deepEqual(await talk.notation(), first)
    await talk.say('go on', false)
    assert.equal(await talk.status(), 'error')
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    const then = ['S running', ...pair, 'Action finish', 'Observation finish', 'S finished']
    assert.deepEqual(await since(talk, first), [...TOLD, ...then])
    const [error] = of(await talk.events(), 'ConversationErrorEvent')
    assert.deepEqual(error!.classification, { kind: 'agent_action', retryable: false, user_action: 'none' })
  })

  test('four times the same is stuck, and a message leads on', async () => {
    const same = echo('again')
    const talk = await rig.begin({ say: 'go', script: [same, same, same, same, say('Sorry.')] })
    await talk.comesTo('stuck')
    const pairs = Array.from({ length: 4 }, () => ['Action terminal', 'Observation terminal']).flat()
    const first = [...BEGIN, ...pairs, 'S stuck']
    assert.deepEqual(await talk.notation(), first)
    await talk.say('stop that')
    await talk.comesTo('finished')
    assert.deepEqual(await since(talk, first), ['S idle', ...TOLD, 'S running', 'Message agent', 'S finished'])
  })

  for (const { fault, code, classification } of [
    {
      fault: 'internal',
      code: 'LLMServiceUnavailableError',
      classification: { kind: 'transient', retryable: true, user_action: 'retry' },
    },
    {
      fault: 'auth',
      code: 'LLMAuthenticationError',
      classification: { kind: 'auth', retryable: false, user_action: 'settings' },
    },
  ] as const)
    test(`a provider's ${fault} failure is an error of kind ${code}, and a run tries again`, async () => {
      const talk = await rig.begin({ say: 'go', script: [fail(fault), say('Hello.')] })
      await talk.comesTo('error')
      const first = [...BEGIN, 'S error', `ConversationError ${code}`]
      assert.deepEqual(await talk.notation(), first)
      assert.deepEqual(of(await talk.events(), 'ConversationErrorEvent')[0]!.classification, classification)
      assert.equal(await talk.post('run'), 200)
      await talk.comesTo('finished')
      assert.deepEqual(await since(talk, first), ['S running', 'Message agent', 'S finished'])
    })

  test('calls that mean nothing are answered with an error each, and the run goes on', async () => {
    const script = [
      call('teleport', { to: 'Mars' }),
      call('terminal', { comand: 1 }),
      call('terminal', '<<<'),
      finish(),
    ]
    const talk = await rig.begin({ say: 'go', script })
    await talk.comesTo('finished')
    assert.deepEqual(await talk.notation(), [
      ...BEGIN,
      ...[
        'Action teleport?',
        'Error teleport',
        'Action terminal?',
        'Error terminal',
        'Action terminal?',
        'Error terminal',
      ],
      ...['Action finish', 'Observation finish', 'S finished'],
    ])
    const events = await talk.events()
    for (const action of of(events, 'ActionEvent').slice(0, 3)) {
      assert.ok(!('action' in action) && !('summary' in action))
      const [result] = resultsOf(events, action)
      assert.equal(result?.kind === 'AgentErrorEvent' && result.classification.kind, 'agent_action')
    }
    const malformed = JSON.parse(of(events, 'ActionEvent')[2]!.tool_call.arguments)
    assert.equal(malformed._openhands_malformed_tool_call, true)
    assert.equal(typeof malformed.error, 'string')
  })

  for (const [what, turn] of Object.entries({
    'a blank answer': say(' '),
    'an empty answer': say(''),
    'an answer that is a thought only': say('', { reasoning: 'Well now.' }),
  }))
    test(`${what} is corrected, and the run goes on`, async () => {
      const talk = await rig.begin({ say: 'go', script: [turn, say('Hello.')] })
      await talk.comesTo('finished')
      assert.deepEqual(await talk.notation(), [
        ...BEGIN,
        'Message agent',
        'Message environment',
        'Message agent',
        'S finished',
      ])
      const [, silent, nudge] = of(await talk.events(), 'MessageEvent')
      assert.equal(silent!.llm_message.content.map(part => part.type === 'text' && part.text.trim()).join(), '')
      assert.equal(nudge!.llm_message.role, 'user')
      const roles = talk.questions[1]!.messages.map(({ role }) => role)
      assert.deepEqual(roles, ['system', 'user', 'user'], 'nothing is shown as an answer')
    })

  test('a model that goes on saying nothing is an error in the end, and a run asks it again', async () => {
    for (const stuck_detection of [true, false]) {
      const script = [say(''), say(' '), say(''), say(''), say('Hello.')]
      const talk = await rig.begin({ say: 'go', script, stuck_detection })
      await talk.comesTo('error')
      const silence = ['Message agent', 'Message environment']
      const failed = ['S error', 'ConversationError LLMNoResponseError']
      assert.deepEqual(await talk.notation(), [...BEGIN, ...silence, ...silence, ...silence, ...failed])
      assert.equal(talk.asked, 3)
      assert.equal(await talk.post('run'), 200)
      await talk.comesTo('finished')
      assert.equal(talk.asked, 5)
    }
  })

  test('hooks speak before and after what they are about, and a denied call is rejected by its hook', async () => {
    const hook = (command: string, matcher = '*') => [{ matcher, hooks: [{ command }] }]
    const deny = `grep -q 'echo two' && { echo not this one >&2; exit 2; }; exit 0`
    const hook_config = {
      session_start: hook('true'),
      user_prompt_submit: hook('true'),
      pre_tool_use: hook(deny, 'terminal'),
      post_tool_use: hook('true', 'terminal'),
      stop: hook('true'),
    }
    const talk = await rig.begin({ say: 'go', script: [both, finish()], hook_config })
    await talk.comesTo('finished')
    await talk.shows('HookExecution Stop')
    assert.deepEqual(await talk.notation(), [
      'S hook_config',
      'HookExecution SessionStart',
      'SystemPromptEvent',
      'HookExecution UserPromptSubmit',
      ...TOLD,
      'S running',
      'HookExecution PreToolUse',
      'Action terminal',
      'HookExecution PreToolUse',
      'S blocked_actions',
      'Action terminal',
      'HookExecution PostToolUse',
      'Observation terminal',
      'S blocked_actions',
      'Reject hook',
      'Action finish',
      'Observation finish',
      'S finished',
      'HookExecution Stop',
    ])
    const events = await talk.events()
    const [, two] = of(events, 'ActionEvent') as [ActionEvent, ActionEvent]
    const [set, cleared] = of(events, 'ConversationStateUpdateEvent').filter(({ key }) => key === 'blocked_actions')
    assert.deepEqual(Object.keys(set!.value as object), [two.id])
    assert.deepEqual(cleared!.value, {})
    assert.equal(of(events, 'UserRejectObservation')[0]!.rejection_reason, 'not this one')
  })

  test('a Stop hook that denies keeps the run going', async () => {
    const deny = 'if [ -e denied ]; then exit 0; fi; touch denied; echo tests first >&2; exit 2'
    const hook_config = { stop: [{ matcher: '*', hooks: [{ command: deny }] }] }
    const talk = await rig.begin({ say: 'go', script: [say('Done.'), say('Really done.')], hook_config })
    await talk.shows('HookExecution Stop', 2)
    const ended = ['Message agent', 'S finished', 'HookExecution Stop']
    assert.deepEqual((await talk.notation()).slice(-8), [...ended, 'Message environment', 'S running', ...ended])
    const [, , feedback] = of(await talk.events(), 'MessageEvent')
    assert.match(JSON.stringify(feedback!.llm_message.content), /\[Stop hook feedback\].*tests first/)
  })

  test('a condensation on request leaves the status as it is', async () => {
    const condenser = { kind: 'LLMSummarizingCondenser', llm: rig.model.llm({ usage_id: 'condenser' }), keep_first: 1 }
    const steps = Array.from({ length: 6 }, (_, i) => echo(`step ${i}`))
    const script = [...steps, say('Done.'), say('What was done so far.')]
    const talk = await rig.begin({
      say: 'go',
      script,
      agent: { condenser: { ...condenser, llm: { ...condenser.llm, model: rig.nextModel } } },
    })
    await talk.comesTo('finished')
    const first = await talk.notation()
    assert.equal(await talk.post('condense'), 200)
    assert.deepEqual(await since(talk, first), ['CondensationRequest', 'Condensation'])
    assert.equal(await talk.status(), 'finished')
  })
})
