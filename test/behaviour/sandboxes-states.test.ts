import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { SandboxInfo, SandboxStatus } from '../../src/api/sandboxes.ts'
import { inParallel } from '../support/exchange.ts'
import { Box, infoOf, inState, NO_WALLS, type Told, withSpecs } from '../support/hands.ts'
import { Random } from '../support/random.ts'
import { groups, holders } from '../support/sandboxes.ts'
import { count, DEEP, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const SPECS = [{ id: 'sound' }, { id: 'broken', command: ['/no/such/program'] }]
const ACTIONS = ['pause', 'resume', 'delete'] as const
type Action = (typeof ACTIONS)[number]

const PAIRS: [Action, Action][] = [
  ['pause', 'pause'],
  ['pause', 'resume'],
  ['resume', 'pause'],
  ['resume', 'resume'],
  ['pause', 'delete'],
  ['delete', 'pause'],
  ['resume', 'delete'],
  ['delete', 'resume'],
  ['delete', 'delete'],
]

let server: TestServer
let config: Awaited<ReturnType<typeof withSpecs>>
before(async () => {
  if (NO_WALLS) return
  config = await withSpecs(SPECS)
  server = await TestServer.start(config)
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await config?.remove()
})

const folderOf = (id: string) => join(server.data, 'sandboxes', id)
const anyBox = (info: SandboxInfo) => new Box(server, info)

/** Caught before its start is answered. */
async function starting(): Promise<Box> {
  const known = new Set((await server.client.searchSandboxes()).items.map(({ id }) => id))
  const answered = server.client.startSandbox().catch(() => undefined)
  const found = await until('a new sandbox is listed', async () =>
    (await server.client.searchSandboxes()).items.find(({ id }) => !known.has(id)),
  )
  const box = anyBox(found)
  answers.set(box.id, answered)
  return box
}
const answers = new Map<string, Promise<unknown>>()

const MAKE: Record<SandboxStatus, () => Promise<Box>> = {
  STARTING: starting,
  RUNNING: () => Box.start(server, 'sound'),
  PAUSED: async () => {
    const box = await Box.start(server, 'sound')
    await box.ok('pause')
    return box
  },
  ERROR: async () =>
    anyBox(
      await inState(server, (await server.client.startSandbox({ query: { sandbox_spec_id: 'broken' } })).id, 'ERROR'),
    ),
  MISSING: async () => {
    const box = await Box.start(server, 'sound')
    await box.ok('pause')
    await rm(folderOf(box.id), { recursive: true, force: true })
    await box.ok('pause')
    assert.equal(await box.status(), 'MISSING')
    return box
  },
}

/** A refusal may come of the other call, or of a sandbox that cannot run; nothing else is anybody's fault. */
function checkAnswer(state: SandboxStatus, pair: string, { status, text, body }: Told): void {
  const what = `${state}: ${pair}: ${status} ${text}`
  if (status === 200) assert.deepEqual(body, { success: true }, what)
  else if (status === 404) assert.match(pair, /delete/, what)
  else {
    assert.equal(body?.code, 'sandbox_failed', what)
    assert.equal(state, 'ERROR', what)
  }
}

async function canBeLeft(state: SandboxStatus, box: Box): Promise<void> {
  if (await infoOf(server, box.id)) {
    const { status, body, text } = await box.call('resume')
    if (state === 'ERROR') assert.equal(body.code, 'sandbox_failed', text)
    else {
      assert.equal(status, 200, text)
      assert.equal(await box.status(), 'RUNNING')
      const running = new Box(server, (await infoOf(server, box.id))!)
      assert.equal(await running.sh('echo here'), 'here')
    }
    await box.ok('delete')
  }
  for (const action of ACTIONS) assert.equal((await box.call(action)).status, 404, `${action} after deleting`)
  assert.equal(await infoOf(server, box.id), null)
}

/** One in three, others in each state. */
const random = new Random()
const some = (pairs: typeof PAIRS): typeof PAIRS => {
  const first = random.int(3)
  return pairs.filter((_, i) => i % 3 === first)
}

describe('every call in every state', { skip: NO_WALLS }, () => {
  for (const state of Object.keys(MAKE) as SandboxStatus[])
    test(`${state}: two calls at once, in any combination, leave nothing that cannot be used or deleted`, async () => {
      const rounds = DEEP ? Array.from({ length: 10 }, () => PAIRS).flat() : some(PAIRS)
      // Whoever looks for the one that is starting must not find another's.
      const width = state === 'STARTING' ? 1 : 3
      const check = async ([first, second]: [Action, Action]) => {
        const box = await MAKE[state]()
        const told = await Promise.all([box.call(first), box.call(second)])
        for (const answer of told) checkAnswer(state, `${first} and ${second}`, answer)
        await answers.get(box.id)
        await canBeLeft(state, box)
      }
      await inParallel(rounds, check, width)
    })

  for (const state of Object.keys(MAKE) as SandboxStatus[])
    test(`${state}: each call twice, one after the other, is answered as if once`, async () => {
      for (const action of ['pause', 'resume'] as const) {
        const box = await MAKE[state]()
        const answers = [await box.call(action), await box.call(action)]
        for (const answer of answers) checkAnswer(state, action, answer)
        assert.equal(answers[0]!.status, answers[1]!.status)
        if (answers[0]!.status === 200 && action === 'pause')
          assert.equal(await box.status(), state === 'MISSING' ? 'MISSING' : 'PAUSED')
        if (answers[0]!.status === 200 && action === 'resume') assert.equal(await box.status(), 'RUNNING')
        await canBeLeft(state, box)
      }
    })

  test('a storm of calls on one sandbox ends in what the last one asked for', async () => {
    const box = await Box.start(server, 'sound')
    for (let round = 0; round < count({ sample: 2, deep: 30 }); round++) {
      const calls = ['pause', 'resume', 'pause', 'resume', 'resume', 'pause', 'resume', 'pause'] as const
      for (const answer of await Promise.all(calls.map(action => box.call(action))))
        assert.equal(answer.status, 200, answer.text)
      await box.ok('resume')
      assert.equal(await box.status(), 'RUNNING')
      assert.equal(await box.sh('echo here'), 'here')
    }
    await box.ok('delete')
  })

  test('afterwards there is no process, folder or control group left', async () => {
    await until('all are gone', async () => (await server.client.searchSandboxes()).items.length === 0)
    assert.deepEqual(await holders(server.data), [])
    assert.deepEqual(await readdir(join(server.data, 'sandboxes')), [])
    assert.ok((await groups(server.data)).every(folder => /gantry-[0-9a-f]+$/.test(folder)))
  })
})
