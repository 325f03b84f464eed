import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'
import { anEvent, find, is, log, make, type Opened, someEvents, storeContract } from './store.ts'
import { startsContract } from './store-starts.ts'
import { webhookContract } from './store-webhooks.ts'

/** `raw` is a connection of our own, past the store. */
async function open(): Promise<Opened & { file: string; raw: DatabaseSync }> {
  const folder = await tempFolder()
  const file = join(folder, 'gantry.db')
  const store = SqliteStore.open(file)
  const raw = new DatabaseSync(file, { timeout: 5000 })
  let last = store
  return {
    store,
    file,
    raw,
    reopen: async () => {
      last = SqliteStore.open(file)
      return last
    },
    [Symbol.asyncDispose]: async () => {
      await last.close().catch(() => undefined)
      raw.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

storeContract('SqliteStore', open)
webhookContract('SqliteStore', open)
startsContract('SqliteStore', open)

/** With one bit turned over. It need not be UTF-8 any more: SQLite does not mind. */
function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}

const schemaOf = (db: DatabaseSync): unknown[] => [
  db.prepare('PRAGMA user_version').get(),
  ...db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all(),
]

describe('SqliteStore: damage', () => {
  const random = new Random()

  test(`one flipped bit in an event damages that record and no other (seed ${random.seed})`, async () => {
    await using opened = await open()
    const { store, raw } = opened
    const texts = Array.from({ length: 20 }, (_, i) => JSON.stringify({ i, text: `ä${' @~'.repeat(random.int(40))}` }))
    const { no } = await make(
      store,
      {},
      texts.map((json, i) => anEvent(i + 1, { json })),
    )
    const whole = await log(store, no)
    const put = raw.prepare('UPDATE events SET json = CAST(? AS TEXT) WHERE conversation = ? AND seq = ?')
    for (let trial = count({ sample: 100, deep: 1000 }); trial > 0; trial--) {
      const victim = random.pick(whole)
      const bytes = Buffer.from(victim.json)
      const bit = random.int(bytes.length * 8)
      put.run(flipped(bytes, bit), no, victim.seq)
      const seen = await log(store, no)
      const damaged = seen.filter(event => event.damaged).map(({ seq }) => seq)
      assert.deepEqual(damaged, [victim.seq], `bit ${bit} of event ${victim.seq}`)
      assert.deepEqual(seen.toSpliced(victim.seq - 1, 1), whole.toSpliced(victim.seq - 1, 1))
      const [byId] = await store.eventsById(no, [victim.id])
      assert.equal(byId?.damaged, true)
      put.run(bytes, no, victim.seq)
    }
    assert.deepEqual(await log(store, no), whole)
  })

  test('a damaged state is told, a damaged part is left out, and both leave the others alone', async () => {
    await using opened = await open()
    const { store, raw } = opened
    const [one, two] = [
      await make(store, { state: '{"n":1}', parts: { a: '"a"', b: '"b"' } }),
      await make(store, { state: '{"n":2}', parts: { a: '"a"' } }),
    ]
    raw.prepare(`UPDATE conversations SET state = '{"n":3}' WHERE no = ?`).run(one.no)
    raw.prepare(`UPDATE parts SET json = '"c"' WHERE conversation = ? AND name = 'a'`).run(one.no)
    const { items } = await store.searchConversations({ order: 'created', descending: false, limit: 9 })
    assert.deepEqual(items, [{ ...one, state: '{"n":3}', damaged: true }, two])
    assert.equal((await find(store, one.id)).damaged, true)
    assert.deepEqual(await store.conversationParts([one.no, two.no], ['a', 'b']), [{ b: '"b"' }, { a: '"a"' }])
  })

  test('a damaged document is told, can be replaced, and the others are read', async () => {
    await using opened = await open()
    const { store, raw } = opened
    await store.writeDocument('one', '{"a":1}', 0)
    await store.writeDocument('two', '{"b":1}', 0)
    raw.exec(`UPDATE documents SET json = '{"a":3}' WHERE name = 'one'`)
    assert.deepEqual(await store.readDocument('one'), { version: 1, json: undefined, damaged: true })
    assert.equal((await store.readDocument('two')).json, '{"b":1}')
    await store.writeDocument('one', '{"a":4}', 1)
    assert.deepEqual(await store.readDocument('one'), { version: 2, json: '{"a":4}' })
  })
})

describe('SqliteStore: the schema', () => {
  test('data of a newer version is refused, saying so, and left as it is', async () => {
    await using opened = await open()
    const { store, raw, reopen } = opened
    const { id } = await make(store, {}, someEvents(2))
    await store.close()
    const [version] = schemaOf(raw) as [{ user_version: number }]
    raw.exec('PRAGMA user_version = 99')
    const before = schemaOf(raw)
    await assert.rejects(reopen(), /newer Gantry \(schema 99, this one knows \d+\)/)
    assert.deepEqual(schemaOf(raw), before)
    raw.exec(`PRAGMA user_version = ${version.user_version}`)
    assert.equal((await find(await reopen(), id)).head, 2)
  })

  test('opening again changes nothing', async () => {
    await using opened = await open()
    const { store, raw, reopen } = opened
    const { id, no } = await make(store, {}, someEvents(2))
    const [record, events, schema] = [await find(store, id), await log(store, no), schemaOf(raw)]
    await store.close()
    for (let i = 0; i < 3; i++) {
      const again = await reopen()
      assert.deepEqual(schemaOf(raw), schema)
      assert.deepEqual([await find(again, id), await log(again, no)], [record, events])
      await again.close()
    }
  })
})

describe('SqliteStore: bounds', () => {
  test('P5: a queue that grows past its bound refuses with `overloaded`; what was accepted is kept', async () => {
    await using opened = await open()
    const { store } = opened
    const { no } = await make(store)
    const json = JSON.stringify('x'.repeat(5_000_000))
    const writes = Array.from({ length: 20 }, (_, i) =>
      store.append({
        ...{ no, after: i, head: i + 1, status: 'idle', updatedAt: 1, state: '{}' },
        events: [anEvent(i + 1, { json })],
      }),
    )
    const results = await Promise.allSettled(writes)
    const accepted = results.filter(({ status }) => status === 'fulfilled').length
    assert.ok(accepted > 0 && accepted < 20, `${accepted} of 20 were accepted`)
    for (const result of results.slice(accepted))
      assert.ok(result.status === 'rejected' && is('overloaded')(result.reason))
    assert.equal((await log(store, no)).length, accepted)
    assert.deepEqual(await store.health(), { writable: true })
  })
})
