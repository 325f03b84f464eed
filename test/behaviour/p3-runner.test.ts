import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Feed } from '../../src/conversation/feed.ts'
import type { Command, Journal } from '../../src/conversation/journal.ts'
import { Runner } from '../../src/conversation/runner.ts'
import { initialState, type State } from '../../src/conversation/state.ts'
import { makeLog } from '../../src/lib/log.ts'

/** A runner over a state alone; a run ends when it is aborted. */
function setUp() {
  let state: State = initialState({
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    tags: {},
    last_event_at: 0,
  })
  const transact = async (_: string, command: Command) => {
    for (const draft of command({ record: {} as never, state }).drafts ?? [])
      if (draft.kind === 'ConversationStateUpdateEvent') state = { ...state, [draft.key]: draft.value }
    return { events: [], state }
  }
  const feed = new Feed()
  feed.listen('any', { events: () => undefined, passing: () => undefined, deleted: () => undefined })
  const told = Promise.withResolvers<undefined>()
  let runs = 0
  const runner = new Runner({
    journal: { transact } as unknown as Journal,
    feed,
    work: async (_, signal) => {
      runs += 1
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    },
    snapshot: () => told.promise,
    log: makeLog('error', line => assert.fail(line)),
  })
  return { runner, told, status: () => state.execution_status, runs: () => runs }
}

test('P3: a pause is not undone by a wish that was made before it, while an interrupted run was ending', async () => {
  const { runner, told, status, runs } = setUp()
  await runner.start('any')
  const interrupted = runner.interrupt('any')
  await runner.start('any')
  const paused = runner.pause('any')
  told.resolve(undefined)
  await Promise.all([interrupted, paused])
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(status(), 'paused')
  assert.equal(runs(), 1)
  await runner.close()
})

test('a wish made while an interrupted run was ending is not forgotten', async () => {
  const { runner, told, status, runs } = setUp()
  await runner.start('any')
  const interrupted = runner.interrupt('any')
  await runner.start('any')
  told.resolve(undefined)
  await interrupted
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(status(), 'running')
  assert.equal(runs(), 2)
  await runner.close()
})

test('P3: waking what rests or is paused starts nothing', async () => {
  const { runner, told, status, runs } = setUp()
  told.resolve(undefined)
  await runner.wake('any')
  await runner.pause('any')
  await runner.wake('any')
  assert.equal(status(), 'paused')
  assert.equal(runs(), 0)
})
