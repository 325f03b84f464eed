import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AgentRig, assertStrict, held, isSnapshot, notationOf, sh, type Talk } from '../support/agent.ts'
import { finish, say } from '../support/model-server.ts'
import type { Frame, TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

/** What a socket tells of a run: the log in its order, and a snapshot whenever the run is over, paused or interrupted. */

const TOLD = ['Message user', 'S last_user_message_id']
const FIRST = ['snapshot', 'SystemPromptEvent', ...TOLD, 'S running']

let rig: AgentRig
before(async () => {
  rig = await AgentRig.start()
})
after(() => rig[Symbol.asyncDispose]())

/** What came over it, each frame as strict as its readers are, once so many snapshots are there. */
async function told(socket: TestSocket, snapshots: number): Promise<string[]> {
  await until(`${snapshots} snapshots came`, () => socket.frames.filter(isSnapshot).length >= snapshots)
  for (const frame of socket.frames) assertStrict(frame)
  return socket.frames.flatMap((frame: Frame) => notationOf(frame))
}

/** Everything the socket told of the log is what the log says, in its order. */
async function matchesLog(socket: TestSocket, talk: Talk): Promise<void> {
  const log = await talk.events()
  await until('all events came', () => socket.events.length >= log.length)
  assert.deepEqual(
    socket.events.map(({ id }) => id),
    log.map(({ id }) => id),
  )
}

const lastStatus = (socket: TestSocket): string => socket.frames.findLast(isSnapshot).value.execution_status

describe('what a socket tells of a run', { concurrency: 4 }, () => {
  test('a run ends with a snapshot, after every event of it', async () => {
    const talk = await rig.begin({ script: [sh('echo hello'), finish('done')] })
    using socket = await talk.listen()
    await talk.say('go')
    const pairs = ['Action terminal', 'Observation terminal', 'Action finish', 'Observation finish']
    assert.deepEqual(await told(socket, 2), [...FIRST, ...pairs, 'S finished', 'snapshot'])
    assert.equal(lastStatus(socket), 'finished')
    await matchesLog(socket, talk)
  })

  test('a streamed answer comes in pieces before it comes whole', async () => {
    const talk = await rig.begin({ script: [say('Hello, my dear world.', { chunks: 4 })], llm: { stream: true } })
    using socket = await talk.listen()
    await talk.say('go')
    const frames = await told(socket, 2)
    const pieces = frames.filter(one => one === 'StreamingDeltaEvent').length
    assert.ok(pieces > 1)
    assert.deepEqual(frames, [
      ...FIRST,
      ...Array(pieces).fill('StreamingDeltaEvent'),
      'Message agent',
      'S finished',
      'snapshot',
    ])
    const deltas = socket.frames.filter(({ kind }) => kind === 'StreamingDeltaEvent')
    assert.equal(deltas.map(({ content }) => content ?? '').join(''), 'Hello, my dear world.')
    assert.ok(deltas.every(frame => !('parent_id' in frame)))
    await matchesLog(socket, talk)
  })

  test('a run that stops to ask ends with a snapshot, and so does the one after the yes; a no has none', async () => {
    const talk = await rig.begin({
      script: [sh('echo one', 'echo two'), sh('echo three')],
      confirmation_policy: { kind: 'AlwaysConfirm' },
    })
    using socket = await talk.listen()
    await talk.say('go')
    const asked = [...FIRST, 'Action terminal', 'Action terminal', 'S waiting_for_confirmation', 'snapshot']
    assert.deepEqual(await told(socket, 2), asked)
    assert.equal(lastStatus(socket), 'waiting_for_confirmation')
    await talk.answer(true)
    const then = ['S running', 'Observation terminal', 'Observation terminal', 'Action terminal']
    const again = [...asked, ...then, 'S waiting_for_confirmation', 'snapshot']
    assert.deepEqual(await told(socket, 3), again)
    await talk.answer(false)
    await socket.frame('the rejection', ({ kind }) => kind === 'UserRejectObservation')
    assert.deepEqual(await told(socket, 3), [...again, 'S idle', 'Reject user'])
    await matchesLog(socket, talk)
  })

  test('a pause during a model call has a snapshot at once, and the run has one when it ends', async () => {
    const gate = Promise.withResolvers<void>()
    const talk = await rig.begin({ script: [{ ...sh('echo one'), delay: gate.promise }, finish()] })
    using socket = await talk.listen()
    await talk.say('go')
    await talk.asks(1)
    await talk.post('pause')
    const paused = [...FIRST, 'S paused', 'PauseEvent', 'snapshot']
    assert.deepEqual(await told(socket, 2), paused)
    assert.equal(lastStatus(socket), 'paused')
    gate.resolve()
    assert.deepEqual(await told(socket, 3), [...paused, 'Action terminal', 'snapshot'])
    await talk.post('run')
    const end = ['S running', 'Observation terminal', 'Action finish', 'Observation finish', 'S finished', 'snapshot']
    assert.deepEqual(await told(socket, 4), [...paused, 'Action terminal', 'snapshot', ...end])
    await matchesLog(socket, talk)
  })

  test('a pause of what rests, or of what is over, has a snapshot', async () => {
    const talk = await rig.begin({ script: [say('Hello.')] })
    using socket = await talk.listen()
    await talk.post('pause')
    assert.deepEqual(await told(socket, 2), ['snapshot', 'S paused', 'PauseEvent', 'snapshot'])
    await talk.post('pause')
    assert.deepEqual((await told(socket, 3)).slice(-2), ['snapshot', 'snapshot'])
  })

  test('an interrupt during a tool has one snapshot, after its result', async () => {
    const talk = await rig.begin({ script: [sh(held('one'))] })
    using socket = await talk.listen()
    await talk.say('go')
    await talk.begins('one')
    await talk.post('interrupt')
    const ended = ['Action terminal', 'Error terminal', 'S paused', 'InterruptEvent', 'snapshot']
    await talk.say('and then?', false)
    await matchesLog(socket, talk)
    assert.deepEqual(await told(socket, 2), [...FIRST, ...ended, ...TOLD])
    assert.equal(lastStatus(socket), 'paused')
  })

  test('an interrupt during a model call has one snapshot', async () => {
    const talk = await rig.begin({ script: [say('never', { stall: 'before' })] })
    using socket = await talk.listen()
    await talk.say('go')
    await talk.asks(1)
    await talk.post('interrupt')
    await talk.say('and then?', false)
    await matchesLog(socket, talk)
    assert.deepEqual(await told(socket, 2), [...FIRST, 'S paused', 'InterruptEvent', 'snapshot', ...TOLD])
  })

  test('a run that fails ends with a snapshot', async () => {
    const talk = await rig.begin({ script: [] })
    using socket = await talk.listen()
    await talk.say('go')
    const failed = ['S error', 'ConversationError LLMServiceUnavailableError', 'snapshot']
    assert.deepEqual(await told(socket, 2), [...FIRST, ...failed])
    assert.equal(lastStatus(socket), 'error')
  })
})
