import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import { Event } from '../../src/api/events.ts'
import { newId } from '../../src/lib/id.ts'
import { aMessage, anOrder, TestServer, tempFolder } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const MEGABYTE = 1024 * 1024
/** T-06: writing goes on this soon after there is room again. */
const RECOVERY_MS = 5000

/** A disk of its own for a data folder, or why there can be none. */
async function smallDisk(): Promise<{ folder: string; unmount(): Promise<void> } | { reason: string }> {
  const folder = await tempFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'gantry-test', folder])
  if (mounted.status !== 0) {
    await rm(folder, { recursive: true, force: true })
    return { reason: `needs to mount a small disk: ${mounted.error?.message ?? String(mounted.stderr).trim()}` }
  }
  return {
    folder,
    unmount: async () => {
      spawnSync('umount', ['-l', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Takes what is left of the disk, to the last byte, beside what it took before. */
function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (let size = MEGABYTE; size >= 1; )
      try {
        if (writeSync(descriptor, Buffer.alloc(size)) < size) size = Math.floor(size / 2)
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
        size = Math.floor(size / 2)
      }
  } finally {
    closeSync(descriptor)
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof ClientError && error.status === 507 ? (error.body as { code: string }).code : undefined

const isRefusal = (error: unknown): boolean => ['storage_full', 'storage_failed'].includes(codeOf(error) ?? '')

/** Sends one message after another, and writes down what came of each. */
class Writer {
  readonly acknowledged: string[] = []
  /** Refused with `storage_full`, which says that nothing was stored. */
  readonly refused: string[] = []
  readonly failed: string[] = []
  readonly params: { conversation_id: string }
  #stopped = false
  #done: Promise<void> | undefined

  constructor(conversation_id: string) {
    this.params = { conversation_id }
  }

  start({ client }: TestServer): void {
    this.#done = (async () => {
      for (let n = 1; !this.#stopped; n++) {
        const text = `${n} ${'x'.repeat(2000)}`
        try {
          await client.sendMessage({ params: this.params, body: aMessage(text) })
          this.acknowledged.push(text)
        } catch (error) {
          if (!isRefusal(error)) throw error
          assert.deepEqual((error as ClientError).body, {
            ...((error as ClientError).body as { detail: string }),
            retryable: true,
          })
          if (codeOf(error) === 'storage_full') this.refused.push(text)
          else this.failed.push(text)
        }
      }
    })()
    this.#done.catch(() => undefined)
  }

  stop(): Promise<void> {
    this.#stopped = true
    return this.#done ?? Promise.resolve()
  }

  /** All that was acknowledged is there once and in order; of the rest, only what nobody denied. */
  async check({ client }: TestServer): Promise<void> {
    const there: string[] = []
    let page_id: string | null = null
    do {
      const page = await client.searchEvents({ params: this.params, query: { page_id, kind: 'MessageEvent' } })
      for (const event of page.items)
        if (event.kind === 'MessageEvent' && event.llm_message.content[0]?.type === 'text')
          there.push(event.llm_message.content[0].text)
      page_id = page.next_page_id
    } while (page_id)
    assert.equal(new Set(there).size, there.length)
    const acknowledged = new Set(this.acknowledged)
    assert.deepEqual(
      there.filter(text => acknowledged.has(text)),
      this.acknowledged,
    )
    const unheard = there.filter(text => !acknowledged.has(text))
    assert.deepEqual(
      unheard.filter(text => !this.failed.includes(text)),
      [],
    )
  }
}

describe('P1: a full disk', () => {
  test('writes are refused with 507, reads go on, nothing acknowledged is lost, and room is enough to recover', async t => {
    const disk = await smallDisk()
    if ('reason' in disk) return t.skip(disk.reason)
    t.after(() => disk.unmount())
    const filler = join(disk.folder, 'filler')
    await using server = await TestServer.start({ data: disk.folder })
    const { client } = server
    const writers: Writer[] = []
    for (let i = 0; i < 3; i++) writers.push(new Writer((await client.startConversation({ body: anOrder() })).id))
    const ready = () =>
      client.ready().then(
        () => undefined,
        error => error as ClientError,
      )
    assert.equal(await ready(), undefined)

    for (const writer of writers) writer.start(server)
    await until('everybody has written', () => writers.every(({ acknowledged }) => acknowledged.length >= 20))
    const denials = () => writers.map(({ refused, failed }) => refused.length + failed.length)
    // What SQLite has set aside already is used up first: the rest of the disk is taken again and again meanwhile.
    await until('everybody is refused', () => {
      fill(filler)
      return denials().every(number => number > 0)
    })
    const unready = await until('/ready says no', () => {
      fill(filler)
      return ready()
    })
    assert.equal(unready.status, 503)
    assert.match((unready.body as { message: string }).message, /disk/)

    const params = writers[0]!.params
    await assert.rejects(client.startConversation({ body: anOrder() }), isRefusal)
    await assert.rejects(client.updateConversation({ params, body: { title: 'x' } }), isRefusal)
    await assert.rejects(client.updateSettings({ body: { misc_settings_diff: { a: 1 } } }), isRefusal)
    await assert.rejects(client.putSecret({ body: { name: 'A', value: 'x' } }), isRefusal)
    await assert.rejects(client.deleteConversation({ params }), isRefusal)

    assert.equal((await client.searchConversations()).items.length, 3)
    assert.equal((await client.getConversation({ params })).title, null)
    assert.deepEqual((await client.getSettings()).misc_settings, {})
    assert.deepEqual((await client.listSecrets()).secrets, [])
    assert.equal((await client.alive()).status, 'ok')
    using socket = new TestSocket(server.url, `/sockets/events/${params.conversation_id}?resend_mode=all`)
    const before = writers[0]!.acknowledged.length
    await until('the socket brings all of the log', () => socket.events.length >= 2 * before)
    const during = denials()
    await until('refusals go on', () => denials().every((number, i) => number > during[i]!))

    const written = writers.map(({ acknowledged }) => acknowledged.length)
    rmSync(filler)
    await until(
      'everybody writes again',
      () => writers.every(({ acknowledged }, i) => acknowledged.length > written[i]!),
      RECOVERY_MS,
    )
    await until('/ready says yes again', async () => (await ready()) === undefined, RECOVERY_MS)
    const settled = denials()
    await Promise.all(writers.map(writer => writer.stop()))
    assert.deepEqual(denials(), settled, 'writes were refused after there was room again')
    for (const writer of writers) await writer.check(server)
    const shown = async ({ client }: TestServer) => (await client.searchConversations()).items
    const conversations = await shown(server)
    assert.equal(await server.stop(), 0)

    await using again = await TestServer.start({ data: disk.folder })
    for (const writer of writers) await writer.check(again)
    assert.deepEqual(await shown(again), conversations)
    assert.equal((await again.client.ready()).status, 'ready')
    t.diagnostic(
      `acknowledged ${writers.map(({ acknowledged }) => acknowledged.length)}, refused ${writers.map(({ refused }) => refused.length)}, failed ${writers.map(({ failed }) => failed.length)}`,
    )
  })
})

/** Turns over one bit in the middle of a stored text, whose checksum stays. */
function flip(data: string, table: string, column: string, key: string, id: string): void {
  using database = new DatabaseSync(join(data, 'gantry.db'))
  const where = `FROM ${table} WHERE ${key} = ?`
  const { json } = database.prepare(`SELECT ${column} AS json ${where}`).get(id) as { json: string }
  const bytes = Buffer.from(json)
  bytes[bytes.length >> 1]! ^= 1
  const change = database.prepare(`UPDATE ${table} SET ${column} = CAST(? AS TEXT) WHERE ${key} = ?`)
  assert.equal(change.run(bytes, id).changes, 1)
}

describe('P4: damage on disk', () => {
  test('a damaged event is shown as EventDamaged under its id, everywhere, and its neighbours are as they were', async () => {
    await using first = await TestServer.start()
    const { id } = await first.client.startConversation({ body: anOrder() })
    const params = { conversation_id: id }
    for (const text of ['one', 'two', 'three']) await first.client.sendMessage({ params, body: aMessage(text) })
    const before = (await first.client.searchEvents({ params })).items
    const info = await first.client.getConversation({ params })
    const victim = before.findIndex(event => JSON.stringify(event).includes('"two"'))
    const { id: event_id, timestamp } = before[victim]!
    assert.equal(await first.stop(), 0)
    flip(first.data, 'events', 'json', 'id', event_id)

    await using server = await TestServer.start({ data: first.data })
    const { client } = server
    const check = (events: Event[]) => {
      assert.deepEqual(events.toSpliced(victim, 1), before.toSpliced(victim, 1))
      const damaged = Event.parse(events[victim])
      assert.ok(damaged.kind === 'ConversationErrorEvent')
      assert.deepEqual([damaged.id, damaged.timestamp, damaged.code], [event_id, timestamp, 'EventDamaged'])
    }
    check((await client.searchEvents({ params })).items)
    check((await client.searchEvents({ params, query: { sort_order: 'TIMESTAMP_DESC' } })).items.toReversed())
    const named = await client.batchEvents({ params, query: { ids: [before[0]!.id, event_id] } })
    const single = await client.getEvent({ params: { ...params, event_id } })
    for (const event of [single, named[1]!]) assert.ok(event.kind === 'ConversationErrorEvent' && event.id === event_id)
    assert.equal(named[0]!.kind, before[0]!.kind)
    using socket = new TestSocket(server.url, `/sockets/events/${id}?resend_mode=all`)
    await until('the socket brings all of the log', () => socket.events.length >= before.length)
    check(socket.events)
    assert.deepEqual(await client.getConversation({ params }), info)
    assert.equal(await client.countEvents({ params }), before.length)

    await client.sendMessage({ params, body: aMessage('four') })
    const after = (await client.searchEvents({ params })).items
    assert.equal(after.length, before.length + 2)
    check(after.slice(0, before.length))
  })

  test('a damaged state is folded again from the log, and what cannot be known is on the safe side', async () => {
    await using first = await TestServer.start()
    const { id } = await first.client.startConversation({ body: anOrder() })
    const other = await first.client.startConversation({ body: anOrder({ conversation_id: newId() }) })
    const params = { conversation_id: id }
    await first.client.updateConversation({ params, body: { title: 'A title', tags: { a: '1' } } })
    await first.client.sendMessage({ params, body: aMessage('hello', true) })
    const settled = () => first.client.getConversation({ params })
    const info = await until('the run has ended', async () => {
      const seen = await settled()
      return seen.execution_status === 'error' && seen
    })
    assert.equal(await first.stop(), 0)
    flip(first.data, 'conversations', 'state', 'id', id)

    await using server = await TestServer.start({ data: first.data })
    const folded = { ...info, confirmation_policy: { kind: 'AlwaysConfirm' } }
    assert.deepEqual(await server.client.getConversation({ params }), folded)
    const { items } = await server.client.searchConversations({ query: { sort_order: 'CREATED_AT' } })
    assert.deepEqual(items, [folded, other])
    await server.client.sendMessage({ params, body: aMessage('more') })
    const now = await server.client.getConversation({ params })
    assert.deepEqual(now, {
      ...folded,
      leaf_event_id: now.leaf_event_id,
      last_user_message_id: now.leaf_event_id,
      updated_at: now.updated_at,
    })
    const times = (await server.client.searchEvents({ params })).items.map(({ timestamp }) => timestamp)
    assert.deepEqual(times, [...new Set(times)].sort())
    await server.stop()
    await using healed = await TestServer.start({ data: first.data })
    assert.deepEqual(await healed.client.getConversation({ params }), now)
  })
})
