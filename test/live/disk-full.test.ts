import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import { Event } from '../../src/api/events.ts'
import { newId } from '../../src/lib/id.ts'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, TestServer, tempFolder } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const MEGABYTE = 1024 * 1024
const PAGE = 4096
/** T-06: writing goes on this soon after there is room again. */
const RECOVERY_MS = 5000

const mount = (folder: string, megabytes: number) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'gantry-test', folder])
const unmount = (folder: string) => spawnSync('umount', ['-l', folder])

/** Why there can be no disk of our own, if so. */
async function whyNoDisk(): Promise<string | false> {
  const folder = await tempFolder()
  const { status, error, stderr } = mount(folder, 1)
  if (status === 0) unmount(folder)
  await rm(folder, { recursive: true, force: true })
  return status === 0 ? false : `needs to mount a small disk: ${error?.message ?? String(stderr).trim()}`
}

/** A disk of its own for a data folder. */
class SmallDisk {
  readonly folder: string
  readonly #filler: string

  static async mount(megabytes: number): Promise<SmallDisk> {
    const folder = await tempFolder()
    assert.equal(mount(folder, megabytes).status, 0)
    return new SmallDisk(folder)
  }

  private constructor(folder: string) {
    this.folder = folder
    this.#filler = join(folder, 'filler')
  }

  /** Takes what is left, but for some whole pages, beside what it took before. */
  fill(pages = 0): void {
    const { bavail, bsize } = statfsSync(this.folder)
    const descriptor = openSync(this.#filler, 'a')
    try {
      for (let left = bavail * bsize - pages * PAGE; left > 0; left -= MEGABYTE)
        writeSync(descriptor, Buffer.alloc(Math.min(left, MEGABYTE)))
    } catch (error) {
      // Somebody else was faster with the rest.
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    } finally {
      closeSync(descriptor)
    }
  }

  makeRoom(): void {
    rmSync(this.#filler)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unmount(this.folder)
    await rm(this.folder, { recursive: true, force: true })
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
  readonly #stop = new AbortController()
  /** Rejects when an answer is neither a success nor a refusal. */
  readonly done: Promise<void>

  constructor(server: TestServer, conversation_id: string) {
    this.params = { conversation_id }
    this.done = this.#write(server)
  }

  get denials(): number {
    return this.refused.length + this.failed.length
  }

  stop(): Promise<void> {
    this.#stop.abort()
    return this.done
  }

  async #write({ client }: TestServer): Promise<void> {
    for (let n = 1; !this.#stop.signal.aborted; n++) {
      const text = `${n} ${'x'.repeat(2000)}`
      try {
        await client.sendMessage({ params: this.params, body: aMessage(text) })
        this.acknowledged.push(text)
      } catch (error) {
        if (!isRefusal(error)) throw error
        assert.equal(((error as ClientError).body as { retryable: boolean }).retryable, true)
        if (codeOf(error) === 'storage_full') this.refused.push(text)
        else this.failed.push(text)
      }
    }
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
    const [heard, unheard] = [true, false].map(is => there.filter(text => acknowledged.has(text) === is))
    assert.deepEqual(heard, this.acknowledged)
    const denied = unheard!.filter(text => !this.failed.includes(text))
    assert.deepEqual(denied, [])
  }
}

const skip = await whyNoDisk()

describe('P1: a full disk', { skip }, () => {
  const random = new Random()
  const rounds = count({ sample: 3, deep: 40 })

  test(`writes are refused with 507, reads go on, room is enough to recover, nothing is lost (${rounds} times, seed ${random.seed})`, async t => {
    await using disk = await SmallDisk.mount(48)
    await using server = await TestServer.start({ data: disk.folder })
    const { client } = server
    const conversations: string[] = []
    for (let i = 0; i < 3; i++) conversations.push((await client.startConversation({ body: anOrder() })).id)
    const unready = () =>
      client.ready().then(
        () => undefined,
        error => error as ClientError,
      )
    assert.equal(await unready(), undefined)

    const writers = conversations.map(id => new Writer(server, id))
    const broken = Promise.all(writers.map(({ done }) => done))
    broken.catch(() => undefined)
    const eventually: typeof until = (what, probe, ms) =>
      Promise.race([until(what, probe, ms), broken.then(() => assert.fail('a writer stopped'))])
    /** Everybody has got so many more of these. */
    const more = (
      what: string,
      length: (writer: Writer) => number,
      by: number,
      ms?: number,
      meanwhile?: () => void,
    ) => {
      const before = writers.map(length)
      return eventually(
        `everybody is ${what}`,
        () => {
          meanwhile?.()
          return writers.every((writer, i) => length(writer) >= before[i]! + by)
        },
        ms,
      )
    }
    const acknowledged = (writer: Writer) => writer.acknowledged.length
    const denials = (writer: Writer) => writer.denials

    for (let round = 0; round < rounds; round++) {
      await more('writing', acknowledged, 1 + random.int(60))
      // What SQLite has set aside already is used up first: others take the rest of the disk meanwhile.
      await more('refused', denials, 1, undefined, () => disk.fill())
      const no = await eventually('/ready says no', () => {
        disk.fill()
        return unready()
      })
      assert.equal(no.status, 503)
      assert.match((no.body as { message: string }).message, /disk/)

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
      const known = writers[0]!.acknowledged.length
      await eventually('the socket brings all of the log', () => socket.events.length >= 2 * known)
      await more('still refused', denials, 1)

      disk.makeRoom()
      await more('writing again', acknowledged, 1, RECOVERY_MS)
      await eventually('/ready says yes again', async () => (await unready()) === undefined, RECOVERY_MS)
      const settled = writers.map(denials)
      await more('writing again', acknowledged, 5)
      assert.deepEqual(writers.map(denials), settled, 'writes are refused though there is room')
    }
    await Promise.all(writers.map(writer => writer.stop()))
    for (const writer of writers) await writer.check(server)
    const before = await client.searchConversations()
    assert.equal(await server.stop(), 0)

    await using again = await TestServer.start({ data: disk.folder })
    for (const writer of writers) await writer.check(again)
    assert.deepEqual(await again.client.searchConversations(), before)
    assert.equal((await again.client.ready()).status, 'ready')
    const total = (length: (writer: Writer) => number) => writers.reduce((sum, writer) => sum + length(writer), 0)
    t.diagnostic(
      `${total(acknowledged)} acknowledged, ${total(({ refused }) => refused.length)} full, ${total(({ failed }) => failed.length)} failed`,
    )
  })

  test('a first start that finds too little room leaves nothing in the way of the next', async () => {
    /** Whether a server starts on a new disk with so many free pages. Once there is room, it must. */
    const starts = async (pages: number): Promise<boolean> => {
      await using disk = await SmallDisk.mount(1)
      disk.fill(pages)
      const first = await TestServer.start({ data: disk.folder }).catch((error: Error) => error)
      if (first instanceof Error) assert.match(first.message, /^The server ended with 1: gantry: .+/)
      else await first.stop('SIGKILL')
      disk.makeRoom()
      const next = await TestServer.start({ data: disk.folder }).catch((error: Error) =>
        assert.fail(`after a start with ${pages} free pages: ${error.message}`),
      )
      await using _ = next
      assert.equal((await next.client.ready()).status, 'ready')
      return !(first instanceof Error)
    }
    let [low, enough] = [0, 128]
    assert.equal(await starts(low), false)
    assert.equal(await starts(enough), true)
    while (enough - low > 1) {
      const middle = (low + enough) >> 1
      if (await starts(middle)) enough = middle
      else low = middle
    }
    for (let pages = low - 1; pages >= Math.max(1, low - count({ sample: 3, deep: 128 })); pages--) await starts(pages)
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
    const info = await until('the run has ended', async () => {
      const seen = await first.client.getConversation({ params })
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
