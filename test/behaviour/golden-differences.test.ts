import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import { AgentRig, held, resultsOf, sh } from '../support/agent.ts'
import { call, finish, say } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

/**
 * Where we are not like the servers whose contract we keep. Each is a fault of theirs that nobody relies on:
 *
 * | there                                                   | here                                                   |
 * |---------------------------------------------------------|--------------------------------------------------------|
 * | a message with `run` runs what waits for an answer      | it neither approves nor rejects                        |
 * | `run` runs what waits, though the user objected since   | what was asked before a message is rejected            |
 * | `accept` with nothing pending calls the model           | it changes nothing                                     |
 * | a pause lets the actions of a pending answer run        | nothing begins after it                                |
 * | a pause waits for the tool, and REST shows it late      | it is acknowledged and shown at once                   |
 * | calls beside `finish` run at the next run               | each has a result that says it was not run             |
 * | after a crash one call of a batch is answered           | all are                                                |
 * | after a crash the conversation is in error              | its run goes on                                        |
 * | policy and analyzer fall back at a restart              | they stay                                              |
 * | secrets that were added are lost                        | they stay                                              |
 * | a policy for what comes next lets a begun batch go on   | it holds for everything that has not begun             |
 * | a hook that denies two calls of an answer stops one     | it stops both                                          |
 * | calls with an id that was there before share results    | each has its own                                       |
 * | client mistakes are 400, 500 or 200                     | they are 404 or 422                                    |
 */

const ALWAYS = { kind: 'AlwaysConfirm' }
const NEVER = { kind: 'NeverConfirm' }
const TOLD = ['Message user', 'S last_user_message_id']
const BEGIN = ['SystemPromptEvent', ...TOLD, 'S running']

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

const actionsOf = (events: readonly Event[]) => events.filter(event => event.kind === 'ActionEvent') as ActionEvent[]

describe('where we differ', { concurrency: 4 }, () => {
  test('a message is not a yes', async () => {
    const talk = await rig.begin({
      say: 'go',
      script: [sh('touch ran'), say('Then not.')],
      confirmation_policy: ALWAYS,
    })
    await talk.comesTo('waiting_for_confirmation')
    const asked = await talk.notation()
    assert.equal(await talk.say('No! Do something else.'), 200)
    using socket = await talk.listen()
    socket.send({ role: 'user', content: 'No, really.' })
    await talk.shows('Message user', 3)
    assert.deepEqual(await talk.notation(), [...asked, ...TOLD, ...TOLD])
    assert.equal(await talk.status(), 'waiting_for_confirmation')
    assert.equal(talk.asked, 1)
    assert.equal(await talk.has('ran'), false)
  })

  test('a run after a message rejects what was asked before it, and goes on with the message', async () => {
    const talk = await rig.begin({
      say: 'go',
      script: [sh('touch ran'), say('As you like.')],
      confirmation_policy: ALWAYS,
    })
    await talk.comesTo('waiting_for_confirmation')
    const asked = await talk.notation()
    await talk.say('Do something else.', false)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    const then = [...TOLD, 'S running', 'Reject user', 'Message agent', 'S finished']
    assert.deepEqual((await talk.notation()).slice(asked.length), then)
    assert.equal(await talk.has('ran'), false)
  })

  test('an accept with nothing pending changes nothing', async () => {
    const fresh = await rig.begin({ script: [] })
    const paused = await rig.begin({ script: [] })
    await paused.post('pause')
    const finished = await rig.begin({ say: 'hello', script: [say('Hello.')] })
    await finished.comesTo('finished')
    const failed = await rig.begin({ say: 'hello', script: [] })
    await failed.comesTo('error')
    for (const talk of [fresh, paused, finished, failed]) {
      const [was, log] = [await talk.info(), await talk.notation()]
      for (const accept of [true, false]) assert.equal(await talk.answer(accept), 200)
      assert.deepEqual(await talk.notation(), log)
      assert.deepEqual(await talk.info(), was)
    }
  })

  test('a pause during a model call lets nothing begin, and shows at once', async () => {
    const gate = Promise.withResolvers<void>()
    const script = [{ ...sh('touch ran'), delay: gate.promise }, finish()]
    const talk = await rig.begin({ say: 'go', script })
    await talk.asks(1)
    assert.equal(await talk.post('pause'), 200)
    assert.equal(await talk.status(), 'paused')
    gate.resolve()
    await talk.shows('Action terminal')
    const paused = [...BEGIN, 'S paused', 'PauseEvent', 'Action terminal']
    assert.deepEqual(await talk.notation(), paused)
    assert.equal(await talk.has('ran'), false)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    const then = ['S running', 'Observation terminal', 'Action finish', 'Observation finish', 'S finished']
    assert.deepEqual((await talk.notation()).slice(paused.length), then)
    assert.equal(await talk.has('ran'), true)
  })

  test('a pause during a tool is acknowledged while it runs: that tool ends, and the next does not begin', async () => {
    const talk = await rig.begin({ say: 'go', script: [sh(held('one'), 'touch two'), finish()] })
    await talk.begins('one')
    assert.equal(await talk.post('pause'), 200)
    assert.equal(await talk.status(), 'paused')
    await talk.letGo('one')
    await talk.shows('Observation terminal')
    const paused = [...BEGIN, 'Action terminal', 'Action terminal', 'S paused', 'PauseEvent', 'Observation terminal']
    assert.deepEqual(await talk.notation(), paused)
    assert.equal(await talk.has('two'), false)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    assert.deepEqual((await talk.notation()).slice(paused.length, paused.length + 2), [
      'S running',
      'Observation terminal',
    ])
    assert.equal(await talk.has('two'), true)
  })

  test('calls after a finish in the same answer get a result that says they were not run', async () => {
    const calls = [{ name: 'finish', arguments: { message: 'done' } }, ...sh('touch ran').calls]
    const talk = await rig.begin({ say: 'go', script: [{ calls }, say('Hello.')] })
    await talk.comesTo('finished')
    const first = [...BEGIN, 'Action finish', 'Action terminal', 'Observation finish', 'Error terminal', 'S finished']
    assert.deepEqual(await talk.notation(), first)
    await talk.say('go on')
    await talk.comesTo('finished')
    assert.equal(await talk.has('ran'), false)
    const [error] = (await talk.events()).filter(event => event.kind === 'AgentErrorEvent')
    assert.match(JSON.stringify(error), /not run/)
  })

  test('a stricter policy holds for the calls of a batch that have not begun', async () => {
    const talk = await rig.begin({ say: 'go', script: [sh(held('one'), 'touch two'), finish()] })
    await talk.begins('one')
    assert.equal(await talk.policy(ALWAYS), 200)
    await talk.letGo('one')
    await talk.comesTo('waiting_for_confirmation')
    assert.equal(await talk.has('two'), false)
    const log = await talk.notation()
    const asked = ['S confirmation_policy', 'Observation terminal', 'S waiting_for_confirmation']
    assert.deepEqual(log.slice(-3), asked)
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.equal(await talk.has('two'), true)
  })

  test('a laxer policy does not free what was asked', async () => {
    const talk = await rig.begin({ say: 'go', script: [sh('touch ran'), finish()], confirmation_policy: ALWAYS })
    await talk.comesTo('waiting_for_confirmation')
    assert.equal(await talk.policy(NEVER), 200)
    assert.equal(await talk.status(), 'waiting_for_confirmation')
    assert.equal(await talk.has('ran'), false)
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.equal(await talk.has('ran'), true)
  })

  test('a hook that denies several calls of one answer stops all of them', async () => {
    const deny = 'grep -q touch && { echo no touching >&2; exit 2; }; exit 0'
    const hook_config = { pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: deny }] }] }
    const talk = await rig.begin({ say: 'go', script: [sh('touch one', 'true', 'touch two'), finish()], hook_config })
    await talk.comesTo('finished')
    for (const file of ['one', 'two']) assert.equal(await talk.has(file), false, file)
    const results = (await talk.notation()).filter(one => /^(Reject|Observation)/.test(one))
    assert.deepEqual(results, ['Reject hook', 'Observation terminal', 'Reject hook', 'Observation finish'])
    const { blocked_actions } = await talk.info()
    assert.deepEqual(blocked_actions, {})
  })

  test('what a hook denied stays denied over a pause', async () => {
    const deny = 'grep -q two && { echo no two >&2; exit 2; }; exit 0'
    const hook_config = { pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: deny }] }] }
    const script = [sh('touch two.a', held('one'), 'touch two.b'), finish()]
    const talk = await rig.begin({ say: 'go', script, hook_config })
    await talk.begins('one')
    await talk.post('pause')
    await talk.letGo('one')
    await talk.shows('Observation terminal')
    await talk.post('run')
    await talk.comesTo('finished')
    for (const file of ['two.a', 'two.b']) assert.equal(await talk.has(file), false, file)
    assert.equal((await talk.notation()).filter(one => one === 'Reject hook').length, 2)
  })

  test('calls that the provider numbers from zero in every answer keep their own results', async () => {
    const first = (command: string) =>
      call('terminal', { command }, { calls: [{ ...sh(command).calls[0]!, id: 'call_0' }] })
    const talk = await rig.begin({ say: 'go', script: [first('echo alpha'), first('echo beta'), finish()] })
    await talk.comesTo('finished')
    const told = talk.questions.at(-1)!.messages.filter(({ role }) => role === 'tool')
    assert.deepEqual(
      told.map(({ content }) => /alpha|beta/.exec(JSON.stringify(content))?.[0]),
      ['alpha', 'beta'],
    )
    const ids = actionsOf(await talk.events()).map(({ tool_call_id }) => tool_call_id)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('what does not exist is 404, and what means nothing 422', async () => {
    const nobody = '/api/conversations/00000000-0000-4000-8000-000000000000'
    const message = { content: [{ type: 'text', text: 'hello' }] }
    for (const [method, path, body] of [
      ['POST', 'pause'],
      ['POST', 'interrupt'],
      ['POST', 'run'],
      ['POST', 'events', message],
      ['POST', 'events/respond_to_confirmation', { accept: true }],
      ['POST', 'confirmation_policy', { policy: ALWAYS }],
      ['POST', 'security_analyzer', { security_analyzer: null }],
      ['POST', 'secrets', { secrets: {} }],
      ['POST', 'ask_agent', { question: 'why?' }],
      ['POST', 'condense'],
      ['DELETE', ''],
      ['PATCH', '', { title: 'any' }],
    ] as const)
      assert.equal((await rig.call(method, path ? `${nobody}/${path}` : nobody, body)).status, 404, `${method} ${path}`)

    const talk = await rig.begin({ script: [] })
    const own = `/api/conversations/${talk.id}`
    assert.equal((await rig.call('GET', `${own}/events/nobody`)).status, 404)
    assert.equal((await rig.call('GET', `${own}/events/search?limit=101`)).status, 422)
    assert.equal((await rig.call('GET', '/api/conversations/search?limit=101')).status, 422)
    assert.equal(await talk.post('events', { ...message, role: 'assistant' }), 422)
    assert.deepEqual(await talk.notation(), [])
  })
})

describe('where we differ after a crash', () => {
  test('after kill -9 in the middle of two calls both are answered, and the run goes on by itself', async () => {
    const script = [sh('touch one; sleep 60', 'touch two'), finish()]
    const talk = await rig.begin({ say: 'go', script })
    await until('the first runs', () => talk.has('one'))
    const before = await talk.notation()
    await rig.restart('SIGKILL')
    await talk.comesTo('finished')
    const then = ['Error terminal', 'Error terminal', 'Action finish', 'Observation finish', 'S finished']
    assert.deepEqual((await talk.notation()).slice(before.length), then)
    const events = await talk.events()
    const [one, two] = actionsOf(events).map(action => resultsOf(events, action))
    assert.match(JSON.stringify(one), /may have had effects/)
    assert.match(JSON.stringify(two), /not run/)
    assert.equal(await talk.has('two'), false)
  })

  test('policy, analyzer and added secrets survive kill -9', async () => {
    const script = [sh('test "$COLOUR" = octarine && touch right; true'), finish()]
    const talk = await rig.begin({ script })
    assert.equal(await talk.policy({ kind: 'ConfirmRisky', threshold: 'LOW' }), 200)
    assert.equal(await talk.analyzer({ kind: 'PolicyRailSecurityAnalyzer' }), 200)
    assert.equal(await talk.post('secrets', { secrets: { COLOUR: 'octarine' } }), 200)
    const changed = ['S confirmation_policy', 'S security_analyzer']
    assert.deepEqual(await talk.notation(), changed)
    await rig.restart('SIGKILL')
    const { confirmation_policy, security_analyzer } = await talk.info()
    assert.deepEqual(confirmation_policy, { kind: 'ConfirmRisky', threshold: 'LOW', confirm_unknown: true })
    assert.deepEqual(security_analyzer, { kind: 'PolicyRailSecurityAnalyzer' })
    assert.deepEqual(await talk.notation(), changed)
    await talk.say('go')
    await talk.comesTo('waiting_for_confirmation')
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.equal(await talk.has('right'), true)
  })
})
