import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { UserRejectObservation } from '../../src/api/events.ts'
import { AgentRig, held, resultsOf, sh, type Talk } from '../support/agent.ts'
import { call, finish, type Turn } from '../support/model-server.ts'
import { count } from '../support/server.ts'
import { until } from '../support/wait.ts'

const ALWAYS = { confirmation_policy: { kind: 'AlwaysConfirm' } }
const WAITING = 'waiting_for_confirmation'

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

/** A conversation that asks for what the first turn calls. */
async function asking(script: Turn[], more: object = ALWAYS): Promise<Talk> {
  const talk = await rig.begin({ say: 'go', script, ...more })
  await talk.comesTo(WAITING)
  return talk
}

/** A command that leaves a trace each time it runs. */
const mark = (name: string) => `echo ${name} >> ran`
const ran = async (talk: Talk) => (await talk.shell('cat ran 2>/dev/null; true')).split('\n').filter(Boolean)

const resultsIn = async (talk: Talk): Promise<string[]> =>
  (await talk.notation()).filter(one => /^(Observation|Reject|Error) /.test(one))

const reasonsIn = async (talk: Talk): Promise<string[]> =>
  (await talk.events())
    .filter(event => event.kind === 'UserRejectObservation')
    .map(event => (event as UserRejectObservation).rejection_reason)

const risk = (security_risk: string, command = 'true'): Turn => call('terminal', { command, security_risk })
const LLM = { kind: 'LLMSecurityAnalyzer' }
const RAIL = { kind: 'PolicyRailSecurityAnalyzer' }
const both = (propagate_unknown = false) => ({
  kind: 'EnsembleSecurityAnalyzer',
  analyzers: [LLM, RAIL],
  propagate_unknown,
})
const broken = { kind: 'PatternSecurityAnalyzer', high_patterns: [['(', 'no expression', 'broken']] }

describe('P3: asked means asked', { concurrency: 4 }, () => {
  test('nothing of what is asked runs before the answer, and all of it once after a yes', async () => {
    const talk = await asking([sh(mark('one'), mark('two')), finish()])
    assert.deepEqual(await ran(talk), [])
    assert.equal(await talk.answer(true), 200)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'two'])
  })

  test('a rejection without a reason has the usual one', async () => {
    const talk = await asking([sh(mark('one'))])
    assert.equal(await talk.answer(false), 200)
    assert.deepEqual(await reasonsIn(talk), ['User rejected the action.'])
    assert.equal(await talk.status(), 'idle')
    assert.deepEqual(await ran(talk), [])
  })

  test('the actions of one answer can be answered one by one, and run in call order once all are', async () => {
    const talk = await asking([sh(mark('one'), mark('two'), mark('three')), finish()])
    const log = await talk.notation()
    const [one, two, three] = (await talk.pending()).map(({ id }) => id)
    assert.equal(await talk.answer(true, { action_ids: [three] }), 200)
    assert.equal(await talk.answer(false, { action_ids: [two], reason: 'not two' }), 200)
    assert.equal(await talk.status(), WAITING)
    assert.deepEqual(await talk.notation(), log)
    assert.deepEqual(await ran(talk), [])
    assert.equal(await talk.answer(true, { action_ids: [one] }), 200)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'three'])
    const expected = ['Observation terminal', 'Reject user', 'Observation terminal', 'Observation finish']
    assert.deepEqual(await resultsIn(talk), expected)
    assert.deepEqual(await reasonsIn(talk), ['not two'])
  })

  test('a batch that is rejected bit by bit keeps each reason, and rests', async () => {
    const talk = await asking([sh(mark('one'), mark('two'))])
    const [one, two] = (await talk.pending()).map(({ id }) => id)
    await talk.answer(false, { action_ids: [two], reason: 'second' })
    await talk.answer(false, { action_ids: [one], reason: 'first' })
    assert.equal(await talk.status(), 'idle')
    assert.deepEqual(await reasonsIn(talk), ['first', 'second'])
    assert.deepEqual(await ran(talk), [])
  })

  test('an answer to some is final for these: a later one to all is for the others', async () => {
    const talk = await asking([sh(mark('one'), mark('two')), finish()])
    const [one] = (await talk.pending()).map(({ id }) => id)
    await talk.answer(false, { action_ids: [one] })
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['two'])
  })

  test('answers that are given twice, at once or later, count once', async () => {
    const talk = await asking([sh(mark('one')), finish()])
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => talk.answer(true)))
    assert.deepEqual(answers, [200, 200, 200, 200, 200])
    await talk.comesTo('finished')
    const log = await talk.notation()
    assert.equal(await talk.answer(true), 200)
    assert.equal(await talk.answer(false), 200)
    assert.deepEqual(await ran(talk), ['one'])
    assert.deepEqual(await talk.notation(), log)
  })

  test('of a yes and a no at once one counts, and the action has one result', async () => {
    const talk = await asking([sh(mark('one')), finish(), finish()])
    await Promise.all([talk.answer(true), talk.answer(false), talk.answer(true)])
    if ((await talk.comesTo('finished', 'idle')) === 'idle') assert.deepEqual(await ran(talk), [])
    else assert.deepEqual(await ran(talk), ['one'])
    const events = await talk.events()
    for (const event of events) if (event.kind === 'ActionEvent') assert.equal(resultsOf(events, event).length, 1)
  })

  test('an answer to an action of the past, or to none, leaves what waits now waiting', async () => {
    const talk = await asking([sh(mark('one')), sh(mark('two')), finish()])
    const [one] = (await talk.pending()).map(({ id }) => id)
    await talk.answer(true)
    await until('the second is asked', async () => (await talk.pending())[0] && (await talk.status()) === WAITING)
    const log = await talk.notation()
    for (const action_ids of [[one], ['nobody'], []]) {
      assert.equal(await talk.answer(true, { action_ids }), 200)
      assert.equal(await talk.answer(false, { action_ids }), 200)
    }
    assert.deepEqual(await talk.notation(), log)
    assert.equal(await talk.status(), WAITING)
    assert.deepEqual(await ran(talk), ['one'])
  })

  for (const accept of [true, false])
    test(`a message with run that came while it waited is worked on once the answer is ${accept ? 'yes' : 'no'}`, async () => {
      const talk = await asking([sh(mark('one')), finish()])
      await talk.say('and mind the gap')
      assert.equal(await talk.status(), WAITING)
      assert.equal(talk.asked, 1)
      await talk.answer(accept)
      await talk.comesTo('finished')
      assert.deepEqual(await ran(talk), accept ? ['one'] : [])
      assert.match(JSON.stringify(talk.questions.at(-1)!.messages), /mind the gap/)
    })

  test('a message without run that came while it waited wakes nothing after a no', async () => {
    const talk = await asking([sh(mark('one'))])
    await talk.say('hm', false)
    await talk.answer(false)
    assert.equal(await talk.status(), 'idle')
    assert.equal(talk.asked, 1)
  })

  test('what the user said while it waited is heard before the work is finished', async () => {
    const calls = [...sh(mark('one')).calls, { name: 'finish', arguments: { message: 'done' } }]
    const talk = await asking([{ calls }, sh(mark('two')), finish()])
    await talk.say('also do two')
    await talk.answer(true)
    await talk.shows('Action terminal', 2)
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'two'])
  })

  test('a run is a yes to what waits', async () => {
    const talk = await asking([sh(mark('one'), mark('two')), sh(mark('three'))])
    assert.equal(await talk.post('run'), 200)
    await talk.shows('S waiting_for_confirmation', 2)
    assert.deepEqual(await ran(talk), ['one', 'two'])
  })

  test('a run after a message is a no, and says why', async () => {
    const talk = await asking([sh(mark('one'), mark('two')), finish()])
    await talk.say('rather not', false)
    assert.equal(await talk.post('run'), 200)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), [])
    assert.deepEqual(await reasonsIn(talk), ['Superseded by a message.', 'Superseded by a message.'])
  })

  test('a message of the past does not make the next run a no', async () => {
    const talk = await asking([sh(mark('one')), sh(mark('two')), finish()])
    await talk.say('fine', false)
    await talk.answer(true)
    await talk.shows('S waiting_for_confirmation', 2)
    await talk.post('run')
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'two'])
  })

  test('pause and interrupt leave what waits waiting', async () => {
    const talk = await asking([sh(mark('one')), finish()])
    const log = await talk.notation()
    for (const how of ['pause', 'interrupt']) assert.equal(await talk.post(how), 200)
    assert.equal(await talk.status(), WAITING)
    assert.deepEqual(await talk.notation(), log)
    await talk.answer(true)
    await talk.comesTo('finished')
  })

  test('a yes outlasts a pause in the middle of the batch', async () => {
    const talk = await asking([sh(held('one'), mark('two')), finish()])
    await talk.answer(true)
    await talk.begins('one')
    await talk.post('pause')
    await talk.letGo('one')
    await talk.shows('Observation terminal')
    assert.deepEqual(await ran(talk), [])
    await talk.post('run')
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['two'])
    assert.equal((await talk.notation()).filter(one => one === 'S waiting_for_confirmation').length, 1)
  })

  test('thinking and finishing alone are not asked for, beside others they are', async () => {
    const free = await rig.begin({ say: 'go', script: [call('think', { thought: 'hm' }), finish()], ...ALWAYS })
    await free.comesTo('finished')
    const talk = await asking([{ calls: [...sh(mark('one')).calls, { name: 'finish', arguments: { message: '' } }] }])
    assert.equal((await talk.pending()).length, 2)
  })

  test('calls that mean nothing are not asked for', async () => {
    const talk = await rig.begin({ say: 'go', script: [call('teleport', {}), finish()], ...ALWAYS })
    await talk.comesTo('finished')
    assert.deepEqual(await resultsIn(talk), ['Error teleport', 'Observation finish'])
  })

  test('what a hook blocked is asked for once with the rest, and does not run', async () => {
    const deny = 'grep -q two && { echo no two >&2; exit 2; }; exit 0'
    const hook_config = { pre_tool_use: [{ matcher: 'terminal', hooks: [{ command: deny }] }] }
    const talk = await asking([sh(mark('one'), mark('two')), finish()], { ...ALWAYS, hook_config })
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one'])
    assert.deepEqual(await resultsIn(talk), ['Observation terminal', 'Reject hook', 'Observation finish'])
  })

  for (const { name, policy = {}, analyzer, turn, asks } of [
    { name: 'the model says HIGH', analyzer: LLM, turn: risk('HIGH'), asks: true },
    { name: 'the model says LOW', analyzer: LLM, turn: risk('LOW'), asks: false },
    { name: 'the model says MEDIUM', analyzer: LLM, turn: risk('MEDIUM'), asks: false },
    {
      name: 'MEDIUM is the threshold',
      policy: { threshold: 'MEDIUM' },
      analyzer: LLM,
      turn: risk('MEDIUM'),
      asks: true,
    },
    { name: 'the model says nothing', analyzer: LLM, turn: sh('true'), asks: true },
    { name: 'the unknown is free', policy: { confirm_unknown: false }, analyzer: LLM, turn: sh('true'), asks: false },
    { name: 'nobody judges', analyzer: null, turn: risk('LOW'), asks: true },
    { name: 'the rail sees what the model denies', analyzer: RAIL, turn: risk('LOW', 'rm -rf /'), asks: true },
    { name: 'the rail sees no harm', analyzer: RAIL, turn: risk('HIGH', 'ls'), asks: false },
    { name: 'one of two sees harm', analyzer: both(), turn: risk('HIGH', 'ls'), asks: true },
    { name: 'the other of two sees harm', analyzer: both(), turn: risk('LOW', 'rm -rf /'), asks: true },
    { name: 'neither of two sees harm', analyzer: both(), turn: risk('LOW', 'ls'), asks: false },
    { name: 'one of two knows nothing, and that counts', analyzer: both(true), turn: sh('ls'), asks: true },
    {
      name: 'the judge is broken',
      policy: { confirm_unknown: false },
      analyzer: broken,
      turn: risk('LOW'),
      asks: true,
    },
  ])
    test(`ConfirmRisky ${asks ? 'asks' : 'does not ask'} where ${name}`, async () => {
      const talk = await rig.begin({
        say: 'go',
        script: [turn, finish()],
        confirmation_policy: { kind: 'ConfirmRisky', ...policy },
        security_analyzer: analyzer,
      })
      assert.equal(await talk.comesTo(WAITING, 'finished', 'error'), asks ? WAITING : 'finished')
      assert.equal((await talk.pending()).length, asks ? 1 : 0)
    })

  test('one risky call holds the whole answer back', async () => {
    const calls = ['LOW', 'HIGH'].map(security_risk => ({
      name: 'terminal',
      arguments: { command: mark(security_risk), security_risk },
    }))
    const talk = await asking([{ calls }, finish()], {
      confirmation_policy: { kind: 'ConfirmRisky' },
      security_analyzer: LLM,
    })
    assert.deepEqual(await ran(talk), [])
    assert.equal((await talk.pending()).length, 2)
  })

  test('policies and analyzers that mean nothing are refused, and change nothing', async () => {
    const talk = await rig.begin({ script: [], ...ALWAYS })
    const was = await talk.info()
    for (const policy of [{ kind: 'SometimesConfirm' }, {}, null, { kind: 'ConfirmRisky', threshold: 'UNKNOWN' }])
      assert.equal(await talk.post('confirmation_policy', { policy }), 422, JSON.stringify(policy))
    const gray = { kind: 'GraySwanAnalyzer' }
    for (const analyzer of [
      { kind: 'Oracle' },
      gray,
      { kind: 'EnsembleSecurityAnalyzer', analyzers: [] },
      { ...both(), analyzers: [gray] },
    ])
      assert.equal(await talk.analyzer(analyzer), 422, JSON.stringify(analyzer))
    assert.deepEqual(await talk.info(), was)
    for (const order of [{ confirmation_policy: { kind: 'Whatever' } }, { security_analyzer: gray }])
      await assert.rejects(rig.begin({ script: [], ...order }), /^Error: 422/)
  })
})

describe('P3: a crash changes no answer', () => {
  test('what waits still waits after kill -9, and a yes runs it once', async () => {
    const talk = await asking([sh(mark('one'), mark('two')), finish()])
    const log = await talk.notation()
    await rig.restart('SIGKILL')
    assert.equal(await talk.status(), WAITING)
    assert.deepEqual(await talk.notation(), log)
    assert.deepEqual(await ran(talk), [])
    await Promise.all([talk.answer(true), talk.answer(true)])
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'two'])
  })

  test('an answer to some, a message and a run that was wished for outlast kill -9', async () => {
    const talk = await asking([sh(mark('one'), mark('two'), mark('three')), finish()])
    const [one, two] = (await talk.pending()).map(({ id }) => id)
    await talk.answer(true, { action_ids: [one] })
    await talk.answer(false, { action_ids: [two], reason: 'not two' })
    await talk.say('and then stop')
    await rig.restart('SIGKILL')
    assert.equal(await talk.status(), WAITING)
    await talk.answer(true)
    await talk.comesTo('finished')
    assert.deepEqual(await ran(talk), ['one', 'three'])
    assert.deepEqual(await reasonsIn(talk), ['not two'])
  })

  test('after kill -9 right upon a yes, each action has run once at most and has one result', async () => {
    for (let left = count({ sample: 1, deep: 20 }); left > 0; left--) {
      const talk = await asking([sh(mark('one'), mark('two')), finish()])
      assert.equal(await talk.answer(true), 200)
      await rig.restart('SIGKILL')
      await talk.comesTo('finished')
      const traces = await ran(talk)
      assert.equal(new Set(traces).size, traces.length, `ran: ${traces}`)
      const events = await talk.events()
      for (const event of events) {
        if (event.kind !== 'ActionEvent') continue
        const results = resultsOf(events, event)
        assert.equal(results.length, 1)
        const name = /echo (one|two)/.exec(JSON.stringify(event.action))?.[1]
        if (name && results[0]!.kind === 'ObservationEvent') assert.ok(traces.includes(name))
        if (name && /was not run/.test(JSON.stringify(results))) assert.ok(!traces.includes(name))
      }
    }
  })
})
