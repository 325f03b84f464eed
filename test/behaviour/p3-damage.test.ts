import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ActionEvent, Event } from '../../src/api/events.ts'
import { readBranch } from '../../src/conversation/branch.ts'
import type { State } from '../../src/conversation/state.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import type { EventQuery, EventRecord, Store } from '../../src/store/store.ts'
import { resultsOf } from '../support/agent.ts'
import { Life, World } from '../support/asking.ts'
import { tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** What becomes of questions and answers when the record of them is not what it was. */

let folder: string
let store: SqliteStore
before(async () => {
  folder = await tempFolder()
  store = SqliteStore.open(join(folder, 'gantry.db'))
})
after(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

const call = (name: string, args: object, n: number) => ({
  id: `${name}_${n}_${JSON.stringify(args)}`,
  name,
  arguments: JSON.stringify(args),
  origin: 'completion' as const,
})

/** A conversation that wants to do these, and waits for the answer. */
async function asking(disk: Store = store, marks = ['one', 'two']): Promise<{ world: World; life: Life }> {
  const script = (n: number) => ({
    text: '',
    calls: n === 1 ? marks.map(mark => call('act', { mark }, n)) : [call('finish', { message: 'done' }, n)],
  })
  const world = new World(disk, script, () => 'now')
  const life = new Life(world)
  const content = [{ type: 'text', text: 'go' }]
  await life.begin({ confirmation_policy: { kind: 'AlwaysConfirm' }, initial_message: { content } })
  await comesTo(life, 'waiting_for_confirmation')
  return { world, life }
}

const comesTo = (life: Life, status: State['execution_status']) =>
  until(`it is ${status}`, async () => {
    const { state } = await life.view()
    return state.execution_status === status && life.runner.going().length === 0
  })

/** Another life, over a state that somebody or something has changed. */
async function changed({ world, life }: { world: World; life: Life }, change: (state: State) => State): Promise<Life> {
  await life.close()
  const { record, state } = await life.view()
  const { no, head, status, updatedAt } = record
  await store.append({ no, after: head, head, status, updatedAt, state: JSON.stringify(change(state)), events: [] })
  const next = new Life(world)
  await next.recover()
  return next
}

async function everyActionIsAnswered({ no }: { no: number }): Promise<void> {
  const events: Event[] = (await store.readEvents({ no, limit: 1000 })).map(({ json }) => JSON.parse(json))
  for (const event of events) if (event.kind === 'ActionEvent') assert.equal(resultsOf(events, event).length, 1)
}

test('P3: a yes to something else than what would run is none: it is asked again', async () => {
  const told = await asking()
  const { world } = told
  const { state } = await told.life.view()
  await told.life.control.answer(world.id, { accept: true, action_ids: [state.open[0]!.id] })
  const life = await changed(told, now => ({ ...now, open: now.open.map(one => ({ ...one, hash: 'of another' })) }))
  await life.control.answer(world.id, { accept: true })
  await comesTo(life, 'waiting_for_confirmation')
  assert.equal(world.done.size, 0)
  await life.control.answer(world.id, { accept: false })
  await life.control.run(world.id)
  await comesTo(life, 'finished')
  assert.equal(world.done.size, 0)
  await everyActionIsAnswered((await life.view()).record)
  await life.close()
})

test('P4: a conversation that waits for nothing that is known goes on when it is run', async () => {
  const told = await asking()
  const life = await changed(told, state => ({ ...state, open: [] }))
  await life.control.run(told.world.id)
  await comesTo(life, 'finished')
  assert.equal(told.world.done.size, 0)
  await life.close()
})

test('P3: an approval that did not survive is asked for again', async () => {
  const told = await asking()
  const { world } = told
  const { state, record } = await told.life.view()
  await told.life.control.answer(world.id, { accept: true, action_ids: [state.open[0]!.id] })
  const refolded = await told.life.journal.stateOf({ ...record, damaged: true })
  const life = await changed(told, () => refolded)
  const stands = (await life.view()).state.open.map(({ stand }) => stand)
  assert.deepEqual(stands, ['asked', 'asked'])
  await life.control.answer(world.id, { accept: true, action_ids: [state.open[1]!.id] })
  assert.equal((await life.view()).state.execution_status, 'waiting_for_confirmation')
  assert.equal(world.done.size, 0)
  await life.close()
})

test('P4: an approved action that cannot be read any more is answered without being run', async () => {
  let lost = ''
  const spoil = (record: EventRecord): EventRecord => (record.id === lost ? { ...record, damaged: true } : record)
  const disk = new Proxy<Store>(store, {
    get: (target, name) => {
      if (name === 'readEvents') return async (query: never) => (await target.readEvents(query)).map(spoil)
      const method = Reflect.get(target, name)
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
  const { world, life } = await asking(disk, ['one'])
  lost = (await life.view()).state.open[0]!.id
  await life.control.answer(world.id, { accept: true })
  await comesTo(life, 'finished')
  assert.equal(world.done.size, 0)
  const { record } = await life.view()
  await everyActionIsAnswered(record)
  const [action] = await store.eventsById(record.no, [lost])
  assert.equal((JSON.parse(action!.json) as ActionEvent).tool_name, 'act')
  await life.close()
})

test('P4: an event that cannot be read hides itself alone from the model', async () => {
  const damage = { id: '' }
  const hiding = new Proxy(store, {
    get: (target, name) => {
      const own = Reflect.get(target, name)
      if (name !== 'readEvents') return typeof own === 'function' ? own.bind(target) : own
      return async (query: EventQuery) =>
        (await target.readEvents(query)).map(one => (one.id === damage.id ? { ...one, damaged: true as const } : one))
    },
  })
  const { life } = await asking(hiding)
  const { record, state } = await life.view()
  const whole = (await readBranch(hiding, record, state)).events
  const [prompt, message, ...rest] = whole
  damage.id = message!.id
  const damaged = (await readBranch(hiding, record, state)).events
  assert.deepEqual(
    damaged.map(({ id }) => id),
    whole.map(({ id }) => id),
  )
  assert.deepEqual([damaged[0], ...damaged.slice(2)], [prompt, ...rest])
  await life.close()
})
