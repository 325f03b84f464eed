import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import type { ConversationInfo } from '../../src/api/conversations.ts'
import { Event } from '../../src/api/events.ts'
import { newId } from '../../src/lib/id.ts'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, DEEP, TestServer, tempFolder } from '../support/server.ts'
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
  return status === 0 ? false : `needs to mount a small disk: ${error?.message ?? String(stderr).split('\n')[0]}`
}

/** A disk of its own for a data folder. */
class SmallDisk {
  readonly folder: string
  readonly #filler: number
  readonly #size: number
  #filled = 0

  static async mount(megabytes: number): Promise<SmallDisk> {
    const folder = await tempFolder()
    const { status, stderr } = mount(folder, megabytes)
    assert.equal(status, 0, String(stderr))
    return new SmallDisk(folder, megabytes * MEGABYTE)
  }

  private constructor(folder: string, size: number) {
    this.folder = folder
    this.#size = size
    // Held open from the start: whatever is mounted here later, it is this disk that is filled.
    this.#filler = openSync(join(folder, 'filler'), 'w')
  }

  /** Takes what is left, but for some whole pages, beside what it took before. */
  fill(pages = 0): void {
    try {
      for (let left = this.#size - this.#filled - pages * PAGE; left > 0; ) {
        const written = writeSync(this.#filler, Buffer.alloc(Math.min(left, MEGABYTE)), 0, null, this.#filled)
        this.#filled += written
        left -= written
      }
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }

  makeRoom(): void {
    ftruncateSync(this.#filler)
    this.#filled = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#filler)
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
  /** Denied since the last success. */
  denials = 0
  /** Rejects when an answer is neither a success nor a refusal. */
  readonly broken: Promise<never>
  readonly #break: (reason: unknown) => void
  readonly #server: TestServer
  #writing = false
  #done = Promise.resolve()
  #messages = 0

  constructor(server: TestServer, conversation_id: string) {
    this.#server = server
    this.params = { conversation_id }
    const { promise, reject } = Promise.withResolvers<never>()
    this.broken = promise
    this.#break = reject
    promise.catch(() => undefined)
  }

  start(): void {
    this.#writing = true
    this.#done = this.#write().catch(this.#break)
  }

  rest(): Promise<void> {
    this.#writing = false
    return this.#done
  }

  async #write(): Promise<void> {
    while (this.#writing) {
      const text = `${++this.#messages} ${'x'.repeat(2000)}`
      try {
        await this.#server.client.sendMessage({ params: this.params, body: aMessage(text) })
        this.acknowledged.push(text)
        this.denials = 0
      } catch (error) {
        if (!isRefusal(error)) throw error
        assert.equal(((error as ClientError).body as { retryable: boolean }).retryable, true)
        this.denials += 1
        if (codeOf(error) === 'storage_full') this.refused.push(text)
        else this.failed.push(text)
      }
    }
  }

  /** All that was acknowledged is there once and in order, and nothing that was denied. */
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
    const refused = new Set(this.refused)
    assert.deepEqual(
      there.filter(text => refused.has(text)),
      [],
    )
    const acknowledged = new Set(this.acknowledged)
    assert.deepEqual(
      there.filter(text => acknowledged.has(text)),
      this.acknowledged,
    )
  }
}

const skip = await whyNoDisk()

describe('P1: a full disk', { skip }, () => {
  const random = new Random()
  // SQLite's log takes 32 MB before it goes round: after many messages it has, and then has room of its own to use up.
  const disks = DEEP
    ? Array.from({ length: 12 }, () => ({ megabytes: 96 + random.int(60), messages: 1 + random.int(600) }))
    : [{ megabytes: 64, messages: 1 + random.int(40) }]
  for (const { megabytes, messages } of disks)
    test(`writes are refused with 507, reads go on, room is enough to recover, nothing is lost (${megabytes} MB, after ${messages} messages)`, async t => {
      await using disk = await SmallDisk.mount(megabytes)
      await using server = await TestServer.start({ data: disk.folder })
      const { client } = server
      const conversations: string[] = []
      for (let i = 0; i < 3; i++) conversations.push((await client.startConversation({ body: anOrder() })).id)
      const params = { conversation_id: conversations[0]! }
      const unready = async () => {
        const answer = await client.ready().catch(error => error as ClientError)
        return answer instanceof ClientError ? answer : undefined
      }
      assert.equal(await unready(), undefined)

      const writers = conversations.map(id => new Writer(server, id))
      const eventually: typeof until = (what, probe, ms) =>
        Promise.race([until(what, probe, ms), ...writers.map(({ broken }) => broken)])
      const rest = () => Promise.all(writers.map(writer => writer.rest()))
      const written = (number: number, ms?: number) => {
        const before = writers.map(({ acknowledged }) => acknowledged.length)
        const isDone = ({ acknowledged }: Writer, i: number) => acknowledged.length >= before[i]! + number
        for (const writer of writers) writer.start()
        return eventually(`everybody has written ${number} more`, () => writers.every(isDone), ms)
      }
      /** Large writes use up what SQLite has set aside, then the smallest there is, until not even that has room. */
      const exhausted = async () => {
        disk.fill()
        if (!writers.every(({ denials }) => denials >= 5)) return undefined
        await rest()
        for (let left = 50; left > 0; left--) {
          disk.fill()
          const no = await unready()
          if (no) return no
        }
        for (const writer of writers) writer.start()
        return undefined
      }

      for (const number of [messages, 10]) {
        await written(number, 60_000)
        const no = await eventually('nobody can write any more', exhausted, 60_000)
        assert.equal(no.status, 503)
        assert.match((no.body as { message: string }).message, /disk/)

        await assert.rejects(client.startConversation({ body: anOrder() }), isRefusal)
        await assert.rejects(client.sendMessage({ params, body: aMessage('x') }), isRefusal)
        await assert.rejects(client.updateConversation({ params, body: { title: 'x' } }), isRefusal)
        await assert.rejects(client.updateSettings({ body: { misc_settings_diff: { a: 1 } } }), isRefusal)
        await assert.rejects(client.putSecret({ body: { name: 'A', value: 'x' } }), isRefusal)
        await assert.rejects(client.deleteConversation({ params }), isRefusal)

        assert.equal((await client.searchConversations()).items.length, 3)
        assert.equal((await client.getConversation({ params })).title, null)
        assert.deepEqual((await client.getSettings()).misc_settings, {})
        assert.deepEqual((await client.listSecrets()).secrets, [])
        assert.equal((await client.alive()).status, 'ok')
        for (const writer of writers) await writer.check(server)
        using socket = new TestSocket(server.url, `/sockets/events/${params.conversation_id}?resend_mode=all`)
        const length = await client.countEvents({ params })
        await eventually('the socket brings all of the log', () => socket.events.length === length)

        disk.makeRoom()
        await written(1, RECOVERY_MS)
        await eventually('/ready says yes again', async () => !(await unready()), RECOVERY_MS)
        const denied = () => writers.map(({ refused, failed }) => refused.length + failed.length)
        const before = denied()
        await rest()
        await written(5)
        await rest()
        assert.deepEqual(denied(), before, 'refused though there is room')
        for (const writer of writers) await writer.check(server)
      }
      const before = await client.searchConversations()
      assert.equal(await server.stop(), 0)

      await using again = await TestServer.start({ data: disk.folder })
      for (const writer of writers) await writer.check(again)
      assert.deepEqual(await again.client.searchConversations(), before)
      assert.equal((await again.client.ready()).status, 'ready')
      const total = (of: (writer: Writer) => string[]) => writers.reduce((sum, writer) => sum + of(writer).length, 0)
      t.diagnostic(
        `${total(w => w.acknowledged)} acknowledged, ${total(w => w.refused)} refused, ${total(w => w.failed)} failed`,
      )
    })

  test('a first start that finds too little room leaves nothing in the way of the next', async () => {
    /** Whether a server starts on a new disk with so many free pages. If not, it must once there is room. */
    const starts = async (pages: number): Promise<boolean> => {
      await using disk = await SmallDisk.mount(8)
      disk.fill(pages)
      const first = await TestServer.start({ data: disk.folder }).catch((error: Error) => error)
      if (!(first instanceof Error)) {
        await first.stop('SIGKILL')
        return true
      }
      assert.match(first.message, /^The server ended with 1: gantry: .+/)
      disk.makeRoom()
      await using _ = await TestServer.start({ data: disk.folder }).catch((error: Error) =>
        assert.fail(`after a start with ${pages} free pages: ${error.message}`),
      )
      return false
    }
    let [low, enough] = [0, 1024]
    assert.equal(await starts(low), false)
    assert.equal(await starts(enough), true)
    while (enough - low > count({ sample: 32, deep: 1 })) {
      const middle = (low + enough) >> 1
      if (await starts(middle)) enough = middle
      else low = middle
    }
    for (let pages = low - 1; pages >= Math.max(1, low - count({ sample: 1, deep: 128 })); pages--) await starts(pages)
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

/** The log has the sums of what models used. The single calls stand beside it, in the state alone. */
const withoutCalls = (info: ConversationInfo): ConversationInfo => ({
  ...info,
  stats: {
    usage_to_metrics: Object.fromEntries(
      Object.entries(info.stats.usage_to_metrics).map(([id, metrics]) => [
        id,
        { ...metrics, costs: [], response_latencies: [], token_usages: [] },
      ]),
    ),
  },
})

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

  test('a damaged state is folded again from the order and the log', async () => {
    await using first = await TestServer.start()
    const { id } = await first.client.startConversation({ body: anOrder() })
    const other = await first.client.startConversation({ body: anOrder({ conversation_id: newId() }) })
    const params = { conversation_id: id }
    await first.client.updateConversation({ params, body: { title: 'A title', tags: { a: '1' } } })
    await first.client.sendMessage({ params, body: aMessage('hello', true) })
    const info = await first.atRest(id)
    assert.equal(info.execution_status, 'finished')
    const told = withoutCalls(info)
    assert.notDeepEqual(told, info)
    assert.equal(await first.stop(), 0)
    flip(first.data, 'conversations', 'state', 'id', id)

    await using server = await TestServer.start({ data: first.data })
    assert.deepEqual(await server.client.getConversation({ params }), told)
    const { items } = await server.client.searchConversations({ query: { sort_order: 'CREATED_AT' } })
    assert.deepEqual(items, [told, other])
    await server.client.sendMessage({ params, body: aMessage('more') })
    const now = await server.client.getConversation({ params })
    assert.deepEqual(now, {
      ...told,
      execution_status: 'idle',
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
