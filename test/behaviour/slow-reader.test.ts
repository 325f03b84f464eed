import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { READER_BUFFER_BYTES, READER_PATIENCE_MS } from '../../src/http/limits.ts'
import { sampled } from '../support/sampled.ts'
import { aMessage, anOrder, count, DEEP, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const LARGE = 100_000
/** A reader that keeps up has an event this long after it was acknowledged, at most, on a machine that is busy. */
const PROMPT_MS = 2000
/** So many messages of that size fill every buffer on the way to a reader that does not read, the system's as well. */
const FILLING = 300
/** Of so many messages: each is two, and the prompt comes with the first. */
const eventsOf = (messages: number): number => 1 + 2 * messages

/** A reader over real TCP that can stop reading. From the start, or after an event. */
abstract class Reader {
  /** Ids of log events, as they came. */
  readonly seen: string[] = []
  /** What the server said when it closed. */
  closed: { code: number; reason: string } | undefined
  onEvent: () => void = () => undefined

  abstract pause(): void
  abstract resume(): void
  abstract [Symbol.dispose](): void

  protected take(id: string): void {
    this.seen.push(id)
    this.onEvent()
  }
}

class SocketReader extends Reader {
  readonly #socket: WebSocket

  constructor(server: TestServer, id: string, after?: string) {
    super()
    const query = after === undefined ? 'resend_mode=all' : `after=${after}`
    this.#socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}?${query}`)
    this.#socket.on('message', data => {
      const event = JSON.parse(String(data))
      if (event.key !== 'full_state') this.take(event.id)
    })
    this.#socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) }
    })
    this.#socket.on('error', () => undefined)
  }

  override pause(): void {
    this.#socket.pause()
  }

  override resume(): void {
    this.#socket.resume()
  }

  override [Symbol.dispose](): void {
    this.#socket.terminate()
  }
}

class StreamReader extends Reader {
  heartbeats = 0
  readonly #request
  #rest = ''
  #response: IncomingMessage | undefined

  constructor(server: TestServer, id: string, after?: string) {
    super()
    const url = `${server.url}/api/conversations/${id}/events/stream${after === undefined ? '' : `?after=${after}`}`
    this.#request = get(url, { agent: false }, response => {
      this.#response = response.setEncoding('utf8').on('error', () => undefined)
      response.on('data', (chunk: string) => {
        this.#rest += chunk
        // A large event comes in many chunks: it is looked through once.
        if (!chunk.includes('\n')) return
        const blocks = this.#rest.split('\n\n')
        this.#rest = blocks.pop()!
        for (const block of blocks) this.#takeBlock(block)
      })
    })
    this.#request.on('error', () => undefined)
  }

  #takeBlock(block: string): void {
    const id = /^id: (.*)$/m.exec(block)?.[1]
    if (id !== undefined) this.take(id)
    if (block.startsWith('event: close')) this.closed = JSON.parse(/^data: (.*)$/m.exec(block)![1]!)
    if (block.startsWith(':')) this.heartbeats += 1
  }

  override pause(): void {
    this.#response?.pause()
  }

  override resume(): void {
    this.#response?.resume()
  }

  override [Symbol.dispose](): void {
    this.#request.destroy()
  }
}

/** A server with one conversation. */
class House {
  readonly server: TestServer
  readonly id: string

  static async open(): Promise<House> {
    const server = await TestServer.start()
    return new House(server, (await server.client.startConversation({ body: anOrder() })).id)
  }

  private constructor(server: TestServer, id: string) {
    this.server = server
    this.id = id
  }

  say(size = LARGE) {
    return this.server.client.sendMessage({ params: { conversation_id: this.id }, body: aMessage('x'.repeat(size)) })
  }

  async sayMany(messages: number): Promise<void> {
    for (let i = 0; i < messages; i += 10) await Promise.all(Array.from({ length: 10 }, () => this.say()))
  }

  /** Ids of the whole log. */
  async log(): Promise<string[]> {
    const ids: string[] = []
    let page_id: string | null = null
    do {
      const page: { items: { id: string }[]; next_page_id: string | null } = await this.server.client.searchEvents({
        params: { conversation_id: this.id },
        query: { page_id },
      })
      ids.push(...page.items.map(({ id }) => id))
      page_id = page.next_page_id
    } while (page_id !== null)
    return ids
  }

  async readers(): Promise<number> {
    const metrics = await (await this.server.client.metrics()).text()
    return Number(/^gantry_readers (\d+)$/m.exec(metrics)![1])
  }

  /** Memory of the server's process that is in use. */
  memory(): number {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.server.pid}/status`, 'utf8'))![1]) * 1024
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]()
  }
}

const kinds = { socket: SocketReader, stream: StreamReader }

describe('P5 a slow reader harms only itself', { concurrency: true }, () => {
  // The sample has one kind of reader, now this, now that.
  const some = sampled(2)
  for (const [kind, Kind] of Object.entries(kinds))
    some(`a ${kind} that is not read is closed with the event to resume after; nobody else notices`, async () => {
      await using house = await House.open()
      const { server, id } = house
      using slow = new Kind(server, id)
      using first = new SocketReader(server, id)
      using second = new StreamReader(server, id)
      const fast = [first, second]
      await house.say()
      for (const reader of [slow, ...fast]) await until('all are live', () => reader.seen.length === eventsOf(1))

      slow.pause()
      for (let said = 1; said <= FILLING && (await house.readers()) === 3; said++) {
        await house.say()
        for (const reader of fast)
          await until('a fast reader has it', () => reader.seen.length === eventsOf(1 + said), PROMPT_MS)
      }
      await until('it is given up', async () => (await house.readers()) === 2, READER_PATIENCE_MS + 10_000)
      for (let i = 0; i < 5; i++) await house.say()

      // What was on its way is still delivered, then the reason: nothing is lost, nothing has to be guessed.
      assert.equal(slow.closed, undefined)
      slow.resume()
      const { code, reason } = await until('the slow reader is told', () => slow.closed)
      assert.equal(code, 1013)
      const last = /resume after (\S+)$/.exec(reason)?.[1]
      assert.equal(last, slow.seen.at(-1))
      const log = await house.log()
      assert.deepEqual(slow.seen, log.slice(0, slow.seen.length))
      assert.ok(slow.seen.length < log.length)

      using resumed = new Kind(server, id, last)
      await until('the rest came', () => resumed.seen.length >= log.length - slow.seen.length)
      await house.say()
      for (const reader of [resumed, ...fast])
        await until(
          'the last word came',
          () => reader.seen.length >= log.length + (reader === resumed ? 2 - slow.seen.length : 2),
        )
      const whole = await house.log()
      assert.deepEqual([...slow.seen, ...resumed.seen], whole)
      for (const reader of fast) assert.deepEqual(reader.seen, whole)
    })

  for (const [kind, Kind] of Object.entries(kinds))
    some(
      `a ${kind} that catches up with a long log at its own pace is not closed, however much is said meanwhile`,
      async () => {
        await using house = await House.open()
        const { server, id } = house
        const long = count({ sample: 150, deep: 5000 })
        await house.sayMany(long)
        using slow = new Kind(server, id)
        // It takes a little whenever something new is said, and so falls ever further behind.
        slow.onEvent = () => slow.pause()
        const meanwhile = (2 * READER_BUFFER_BYTES) / LARGE
        for (let i = 0; i < meanwhile; i++) {
          await house.say()
          slow.resume()
        }
        const behind = eventsOf(long + meanwhile) - slow.seen.length
        assert.ok((behind / 2) * LARGE > 2 * READER_BUFFER_BYTES, `it is only ${behind} events behind`)
        assert.equal(slow.closed, undefined)

        slow.onEvent = () => undefined
        slow.resume()
        await until('it has everything', () => slow.seen.length >= eventsOf(long + meanwhile), 60_000)
        assert.equal(slow.closed, undefined)
        assert.deepEqual(slow.seen, await house.log())
        assert.doesNotMatch(server.output, /MaxListenersExceededWarning/)
      },
    )

  test('a message larger than the buffer of a reader reaches those who keep up', async () => {
    await using house = await House.open()
    using socket = new SocketReader(house.server, house.id)
    using stream = new StreamReader(house.server, house.id)
    await house.say(1)
    for (const reader of [socket, stream]) await until('it is live', () => reader.seen.length === eventsOf(1))
    await house.say(3 * READER_BUFFER_BYTES)
    await house.say(1)
    for (const reader of [socket, stream]) {
      await until('all came', () => reader.closed ?? reader.seen.length === eventsOf(3))
      assert.equal(reader.closed, undefined)
      assert.deepEqual(reader.seen, await house.log())
    }
  })

  test('readers that are stuck cost the server no more than their buffers', async () => {
    await using house = await House.open()
    const { server, id } = house
    const size = 500_000
    const stuck = 10
    /** The server's own needs while it works: the garbage of a few dozen large messages. */
    const slack = 100 * 1024 * 1024
    const bound = 2 * stuck * (READER_BUFFER_BYTES + size) + slack
    const said = 45
    // Were the log kept for each of them, it would not fit by far.
    assert.ok(2 * stuck * said * size > 2 * bound)

    using live = new DisposableStack()
    for (let i = 0; i < stuck; i++) {
      const reader = live.use(new (i % 2 === 0 ? SocketReader : StreamReader)(server, id))
      reader.onEvent = () => reader.pause()
    }
    await house.say(1)
    await until('all are there', async () => (await house.readers()) === stuck)
    const before = house.memory()
    for (let i = 0; i < said; i++) await house.say(size)
    for (let i = 0; i < stuck; i++) {
      const reader = live.use(new (i % 2 === 0 ? SocketReader : StreamReader)(server, id))
      reader.onEvent = () => reader.pause()
    }
    using fast = new SocketReader(server, id)
    await until('a reader beside them has everything', () => fast.seen.length === eventsOf(said + 1))
    await house.say(1)
    await until('and is live', () => fast.seen.length === eventsOf(said + 2))
    const grown = house.memory() - before
    assert.ok(grown < bound, `the server grew by ${grown >> 20} MB, more than ${bound >> 20} MB`)
  })

  test('P4 a stream that is not read while its conversation is deleted does not harm the server later', async () => {
    await using house = await House.open()
    const { server, id } = house
    await house.sayMany(count({ sample: 200, deep: 300 }))
    using deaf = new StreamReader(server, id)
    deaf.onEvent = () => deaf.pause()
    await until('it has begun', () => deaf.seen.length > 0)
    const other = (await server.client.startConversation({ body: anOrder() })).id
    using witness = new StreamReader(server, other)
    await server.client.deleteConversation({ params: { conversation_id: id } })
    // The deaf one came first, so its heartbeat is due before the other's is heard.
    await until('a heartbeat is heard', () => witness.heartbeats > 0 || server.process.exitCode !== null, 30_000)
    assert.equal(server.process.exitCode, null, server.output.slice(-1000))
    assert.equal((await fetch(`${server.url}/alive`)).status, 200)
  })

  test('a socket that takes longer than two pings to read what it has coming is not dropped', {
    skip: !DEEP && 'takes long: npm run test:deep',
  }, async () => {
    await using house = await House.open()
    await house.sayMany(300)
    using slow = new SocketReader(house.server, house.id)
    slow.onEvent = () => slow.pause()
    const uptime = async () => (await house.server.client.serverInfo()).uptime
    for (let second = await uptime(), end = second + 75; second < end; ) {
      const then = second
      second = await until('a second passes', async () => ((await uptime()) > then ? uptime() : undefined))
      slow.resume()
    }
    slow.onEvent = () => undefined
    slow.resume()
    await until('it has everything', () => slow.closed ?? slow.seen.length === eventsOf(300))
    assert.equal(slow.closed, undefined)
  })
})
