import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { Event } from '../../src/api/events.ts'
import { AgentRig, held, isSnapshot, sh, Talk } from '../support/agent.ts'
import { NO_WALLS } from '../support/hands.ts'
import { Line } from '../support/line.ts'
import { call, finish, type Seen, say, type Turn } from '../support/model-server.ts'
import { NO_PYTHON_SDK, type PythonConversation, PythonSdk } from '../support/python-sdk.ts'
import { until } from '../support/wait.ts'

/** What each conversation's model says, by its name. */
const scripts = new Map<string, Turn[]>()
/** Asked aside, for a title or by a person, it is without tools. */
const next = ({ model, body }: Seen): Turn =>
  body.tools ? (scripts.get(model)?.shift() ?? say('Nothing is left to do.')) : say('Said aside')

const MISSING = NO_PYTHON_SDK || NO_WALLS

let rig: AgentRig
let sdk: PythonSdk
before(async () => {
  if (MISSING) return
  sdk = new PythonSdk()
  rig = await AgentRig.start(next)
})
after(async () => {
  await sdk?.[Symbol.asyncDispose]()
  await rig?.[Symbol.asyncDispose]()
})

interface Order {
  secrets?: Record<string, string>
  on?: AgentRig
  url?: string
}

/** A conversation of the client, and the same as the server has it. */
async function begin(
  script: Turn[],
  { secrets, on = rig, url = on.server.url }: Order = {},
): Promise<{ conversation: PythonConversation; talk: Talk }> {
  const name = randomUUID()
  scripts.set(name, script)
  await sdk.order('workspace', name, url, on.server.key, `/workspace/${name}`)
  const conversation = await sdk.converse(name, on.model.llm({ model: `openai/${name}` }), secrets)
  return { conversation, talk: new Talk(on, conversation.id, name) }
}

/** Waits until its model was asked so often what to do. */
const thinks = (talk: Talk, times: number) =>
  until(`it thinks for the ${times}th time`, () => talk.questions.filter(({ body }) => body.tools).length >= times)

const kept = (events: Event[]) => events.filter(event => !isSnapshot(event))

/** The client remembers what the log says, each event once and in order, and was called back about none twice. */
async function assertSameLog(conversation: PythonConversation, talk: Talk): Promise<Event[]> {
  // A title is made, and paid for, beside the run: its events may be on their way.
  const { events, heard, log } = await until('the client has as many events as the log', async () => {
    const [log, seen] = [await talk.events(), await conversation.see()]
    return kept(seen.events).length >= log.length ? { ...seen, log } : undefined
  })
  assert.deepEqual(kept(events), log)
  assert.equal(new Set(heard).size, heard.length)
  return log
}

const ZONES = ['UTC', 'America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Auckland', 'Pacific/Marquesas']

describe('the published Python client, unmodified', { skip: MISSING, timeout: 120_000 }, () => {
  test('runs a conversation to its end and remembers the very log of the server', async () => {
    const { conversation, talk } = await begin([
      { text: 'I look first.', ...call('terminal', { command: 'pwd', security_risk: 'LOW', summary: 'look' }) },
      call('file_editor', { command: 'create', path: '/workspace/made-by-python.txt', file_text: 'hi\n' }),
      call('task_tracker', { command: 'plan', task_list: [{ title: 'one', status: 'done' }] }),
      call('no_such_tool', {}),
      finish('all done'),
    ])
    await conversation.say('hello from Python')
    assert.equal(await conversation.run(), 'finished')
    await assertSameLog(conversation, talk)
    const results = (await talk.notation()).filter(one => /^(?:Observation|Error)/.test(one))
    assert.deepEqual(results, [
      'Observation terminal',
      'Observation file_editor',
      'Observation task_tracker',
      'Error no_such_tool',
      'Observation finish',
    ])
    assert.ok((await conversation.see()).tokens > 0)
    assert.equal(await conversation.call('ask_agent', 'Is anything left?'), 'Said aside')
  })

  test('rejects an action, which then never runs, and accepts the next one by running on', async () => {
    const { conversation, talk } = await begin([sh('touch rejected'), sh('touch accepted'), say('ok')])
    await conversation.policy('AlwaysConfirm')
    await conversation.say('act')
    assert.equal(await conversation.run(), 'waiting_for_confirmation')
    await conversation.call('reject_pending_actions', 'no thanks')
    await until('it is idle', async () => (await conversation.see()).status === 'idle')
    assert.equal(await conversation.run(), 'waiting_for_confirmation')
    assert.equal(await talk.has('accepted'), false)
    assert.equal(await conversation.run(), 'finished')
    assert.deepEqual([await talk.has('rejected'), await talk.has('accepted')], [false, true])
    const rejections = (await assertSameLog(conversation, talk)).filter(event => event.kind === 'UserRejectObservation')
    assert.deepEqual(
      rejections.map(event => event.rejection_reason),
      ['no thanks'],
    )
  })

  test('pauses a run, which ends with the action at hand, and resumes it', async () => {
    const { conversation, talk } = await begin([sh(held('first')), sh('touch second'), finish()])
    await conversation.say('work')
    const run = conversation.run()
    await talk.begins('first')
    await conversation.call('pause')
    await talk.letGo('first')
    assert.equal(await run, 'paused')
    assert.equal(await talk.has('second'), false)
    assert.equal(await conversation.run(), 'finished')
    assert.equal(await talk.has('second'), true)
    await assertSameLog(conversation, talk)
  })

  test('interrupts a run in the midst of a command, and goes on with another message', async () => {
    const { conversation, talk } = await begin([sh(held('endless')), finish()])
    await conversation.say('work')
    const run = conversation.run()
    await talk.begins('endless')
    await conversation.call('interrupt')
    assert.equal(await run, 'paused')
    await conversation.say('leave it')
    assert.equal(await conversation.run(), 'finished')
    await assertSameLog(conversation, talk)
    assert.deepEqual(await talk.pending(), [])
  })

  test('grants secrets that reach a command and are masked in whatever comes back', async () => {
    const secrets = { EARLY_TOKEN: 'early-token-0123456789', LATE_TOKEN: 'late-token-9876543210' }
    const { conversation, talk } = await begin(
      [sh('echo $EARLY_TOKEN; printf %s $EARLY_TOKEN | sha256sum'), sh('printf %s $LATE_TOKEN | sha256sum'), finish()],
      { secrets: { EARLY_TOKEN: secrets.EARLY_TOKEN } },
    )
    await conversation.call('update_secrets', { LATE_TOKEN: secrets.LATE_TOKEN })
    await conversation.say('use them')
    assert.equal(await conversation.run(), 'finished')
    await assertSameLog(conversation, talk)
    const told = JSON.stringify((await conversation.see()).events)
    for (const secret of Object.values(secrets)) {
      assert.ok(told.includes(createHash('sha256').update(secret).digest('hex')), 'the command had it')
      assert.ok(!told.includes(secret), 'nobody reads it')
    }
  })

  test('has every event once when its connections are cut in mid-run', async () => {
    await using line = await Line.to(rig.server.url)
    const { promise, resolve } = Promise.withResolvers<void>()
    const { conversation, talk } = await begin(
      [sh('echo one'), { ...sh('echo two'), delay: promise }, sh('echo three'), finish()],
      { url: line.url },
    )
    await conversation.say('work')
    const run = conversation.run()
    await thinks(talk, 2)
    line.cut()
    resolve()
    assert.equal(await run, 'finished')
    const log = await assertSameLog(conversation, talk)
    const { heard } = await conversation.see()
    assert.ok(!log.every(({ id }) => heard.includes(id)), 'something happened while it was cut off')
  })

  test('has every event once when the server is killed in mid-run and another one goes on', async () => {
    await using rig = await AgentRig.start(next)
    await using line = await Line.to(rig.server.url)
    const { conversation, talk } = await begin([sh('echo one'), { stall: 'before' }, sh('echo two'), finish()], {
      on: rig,
      url: line.url,
    })
    await conversation.say('work')
    const run = conversation.run()
    await thinks(talk, 2)
    await rig.restart('SIGKILL')
    line.cut(rig.server.url)
    assert.equal(await run, 'finished')
    await assertSameLog(conversation, talk)
  })

  for (const zone of ZONES)
    test(`reads times as they are, client and server being in ${zone}`, async t => {
      await using rig = await AgentRig.start(next, { env: { TZ: zone } })
      await sdk.order('zone', zone)
      t.after(() => sdk.order('zone', 'UTC'))
      const start = Date.now()
      const { conversation, talk } = await begin([sh('date'), finish()], { on: rig })
      await conversation.say('what time is it?')
      assert.equal(await conversation.run(), 'finished')
      const times = (await assertSameLog(conversation, talk)).map(({ timestamp }) => timestamp)
      assert.deepEqual(times, [...new Set(times)].sort())
      for (const time of times.map(time => Date.parse(`${time}Z`)))
        assert.ok(time >= start - 1 && time <= Date.now(), `${time} is now`)
    })

  test('finds a sandbox of its own with settings and secrets, works in it, and takes it down', async () => {
    await rig.server.client.putSecret({ body: { name: 'MINE', value: 'value-of-mine-1' } })
    await rig.server.client.updateSettings({ body: { agent_settings_diff: { llm: rig.model.llm() } } })
    const sandboxes = async () => new Set((await rig.server.client.searchSandboxes()).items.map(({ id }) => id))
    const before = await sandboxes()
    const found = await sdk.order<Record<string, unknown>>('cloud_workspace', 'cloud', rig.server.url, rig.server.key)
    assert.deepEqual([found.secrets, found.model, found.base_url], [['MINE'], 'openai/scripted', rig.model.openai])
    const { exit_code, stdout } = await sdk.order<Record<string, unknown>>('command', 'cloud', 'echo here')
    assert.deepEqual([exit_code, stdout], [0, 'here\n'])
    scripts.set('cloud', [sh('printf %s $MINE | wc -c; echo $MINE'), finish()])
    const conversation = await sdk.converse('cloud', rig.model.llm({ model: 'openai/cloud' }))
    await sdk.order('lend', conversation.id, 'cloud')
    await conversation.say('hi')
    assert.equal(await conversation.run(), 'finished')
    const told = JSON.stringify(await assertSameLog(conversation, new Talk(rig, conversation.id)))
    assert.ok(told.includes('15\\n') && !told.includes('value-of-mine-1'), told)
    assert.equal((await sandboxes()).difference(before).size, 1)
    await conversation.call('close')
    await sdk.order('leave', 'cloud')
    assert.deepEqual(await sandboxes(), before)
  })
})
