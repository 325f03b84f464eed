import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const CONVERSATIONS = 4
const READERS = count({ sample: 30, deep: 200 })
const CUTS_EACH = count({ sample: 8, deep: 100 })
/** Over all conversations. Each is two events, and those sent with `run` are worked on, which is some more. */
const MESSAGES = count({ sample: 160, deep: 2000 })
/** What a reader that hears nothing new waits before its next cut, at most: it is live by then, usually. */
const PATIENCE_MS = 60
/** Of the connections that were cut, those that had brought something new: otherwise nothing was put to the test. */
const FRUITFUL = 0.2
/** A reader that has not got everything by then never will. */
const COMPLETE_MS = count({ sample: 20_000, deep: 300_000 })

const KINDS = ['socket after', 'socket all', 'socket since', 'sse header', 'sse query', 'rest'] as const
type Kind = (typeof KINDS)[number]

/** A way in, open until it is cut. */
interface Connection {
  pause(): void
  resume(): void
  /** Resolves when nothing more is taken from it. */
  cut(abruptly: boolean): Promise<void>
}

/** Reads one log over many connections, each resumed from its own cursor: what it has seen so far. */
class Reader {
  readonly name: string
  readonly kind: Kind
  readonly id: string
  readonly random: Random
  /** The JSON text of each event, as it came. */
  readonly seen: string[] = []
  cuts = 0
  /** Cuts in the middle of the log: of a connection that had brought something. */
  fruitful = 0
  readonly #server: TestServer
  /** What the next events must be, by the rule of this kind, although they were seen before. */
  #repeats: string[] = []
  /** The connection has said something. */
  #heard = false
  #failure: Error | undefined

  constructor(server: TestServer, kind: Kind, id: string, random: Random) {
    this.#server = server
    this.kind = kind
    this.id = id
    this.random = random
    this.name = `${kind} reader with seed ${random.seed}`
  }

  open(): Connection {
    const last = this.seen.at(-1)
    const { id, timestamp } = last ? JSON.parse(last) : {}
    const events = `/api/conversations/${this.id}/events`
    const socket = `/sockets/events/${this.id}`
    this.#repeats = []
    this.#heard = false
    switch (this.kind) {
      case 'socket after':
        return this.#socket(last ? `${socket}?after=${id}` : `${socket}?resend_mode=all`)
      case 'socket all':
        this.#repeats = [...this.seen]
        return this.#socket(`${socket}?resend_mode=all`)
      case 'socket since':
        if (last) this.#repeats = [last]
        return this.#socket(`${socket}?resend_mode=since&after_timestamp=${timestamp ?? '1970-01-01'}`)
      case 'sse header':
        return this.#sse(`${events}/stream`, last ? { 'Last-Event-ID': id } : {})
      case 'sse query':
        return this.#sse(last ? `${events}/stream?after=${id}` : `${events}/stream`, {})
      case 'rest':
        if (last) this.#repeats = [last]
        return this.#pages(`${events}/search`, id ?? null)
    }
  }

  /** Reads until it is cut, again and again. */
  async beCutOften(times: number): Promise<void> {
    const { random } = this
    for (let i = 0; i < times; i++) {
      const before = this.seen.length
      const connection = this.open()
      const isHasty = random.int(8) === 0
      if (!isHasty) await this.#read()
      if (random.int(3) === 0) {
        connection.pause()
        await this.#read()
        connection.resume()
        await this.#read()
      }
      await connection.cut(random.int(2) === 0)
      this.cuts += 1
      if (this.seen.length > before) this.fruitful += 1
    }
  }

  /** Reads without a cut until it has seen so many events. */
  async complete(length: number, connection = this.open()): Promise<Connection> {
    await until(
      `the ${this.name} has seen ${length} events`,
      async () => {
        this.#check()
        if (this.kind === 'rest' && this.seen.length < length) {
          await connection.cut(false)
          connection = this.open()
        }
        return this.seen.length >= length
      },
      COMPLETE_MS,
    )
    return connection
  }

  /** Until it is time for something else: enough events have come, or nothing new for too long. */
  async #read(): Promise<void> {
    const enough = this.seen.length + this.random.int(30)
    const patience = this.random.int(PATIENCE_MS)
    let since: number | undefined
    await until(
      `the ${this.name} is told something`,
      () => {
        this.#check()
        if (this.#heard) since ??= performance.now()
        return this.seen.length > enough || (since !== undefined && performance.now() >= since + patience)
      },
      COMPLETE_MS,
    )
  }

  #check(): void {
    if (this.#failure) throw this.#failure
    assertAlive(this.#server)
  }

  #fail(why: string): void {
    this.#failure ??= new Error(`The ${this.name}, after ${this.cuts} cuts and ${this.seen.length} events: ${why}`)
  }

  #take(text: string): void {
    const expected = this.#repeats.shift()
    if (expected === undefined) this.seen.push(text)
    else if (text !== expected) this.#fail(`got ${text} where ${expected} was due again`)
  }

  #socket(path: string): Connection {
    const socket = new WebSocket(this.#server.url.replace('http', 'ws') + path)
    let isFirst = true
    let isCut = false
    socket.on('message', data => {
      const text = String(data)
      this.#heard = true
      if (!isSnapshot(text)) this.#take(text)
      if (isFirst && !isSnapshot(text)) this.#fail(`the first frame is ${text}`)
      isFirst = false
    })
    socket.on('error', error => isCut || this.#fail(String(error)))
    const closed = new Promise<void>(resolve =>
      socket.on('close', (code, reason) => {
        if (!isCut) this.#fail(`the socket was closed: ${code} ${reason}`)
        resolve()
      }),
    )
    return {
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      cut: async abruptly => {
        isCut = true
        // What comes while saying goodbye still counts.
        if (!abruptly && socket.readyState === WebSocket.OPEN) {
          socket.close()
          await closed
        } else {
          socket.removeAllListeners('message')
          socket.terminate()
        }
      },
    }
  }

  /** Leaving a stream of server-sent events is closing its connection: there is no other goodbye. */
  #sse(path: string, headers: Record<string, string>): Connection {
    let isCut = false
    let rest = ''
    let response: IncomingMessage | undefined
    const request = get(this.#server.url + path, { headers, agent: false }, incoming => {
      response = incoming
      if (incoming.statusCode !== 200) this.#fail(`the answer is ${incoming.statusCode}`)
      incoming.setEncoding('utf8').on('error', () => undefined)
      incoming.on('close', () => isCut || this.#fail('the stream ended'))
      incoming.on('data', (chunk: string) => {
        if (isCut) return
        this.#heard = true
        const blocks = (rest + chunk).split('\n\n')
        rest = blocks.pop()!
        for (const block of blocks) this.#takeBlock(block)
      })
    })
    request.on('error', error => isCut || this.#fail(String(error)))
    return {
      pause: () => response?.pause(),
      resume: () => response?.resume(),
      cut: async () => {
        isCut = true
        request.destroy()
      },
    }
  }

  #takeBlock(block: string): void {
    const [, id, data] = /^(?:id: (.*)\n)?data: (.*)$/.exec(block) ?? []
    if (data === undefined) return
    if (id === undefined ? !isSnapshot(data) : JSON.parse(data).id !== id) this.#fail(`the stream says ${block}`)
    if (id !== undefined) this.#take(data)
  }

  /** Every page there is now. A page begins with the event it is asked for. */
  #pages(path: string, from: string | null): Connection {
    const stop = new AbortController()
    const { signal } = stop
    const work = async () => {
      let page = from
      do {
        const query = `limit=${1 + this.random.int(100)}${page === null ? '' : `&page_id=${page}`}`
        const text = await (await fetch(`${this.#server.url}${path}?${query}`, { signal })).text()
        const { items, next_page_id }: { items: object[]; next_page_id: string | null } = JSON.parse(text)
        this.#heard = true
        for (const item of items) this.#take(JSON.stringify(item))
        page = next_page_id
      } while (page !== null)
    }
    const done = work().catch(error => {
      if (!signal.aborted) this.#fail(String(error))
    })
    return {
      // Whoever pages and pauses just does not ask.
      pause: () => undefined,
      resume: () => undefined,
      cut: async abruptly => {
        if (abruptly) stop.abort()
        await done
      },
    }
  }
}

/** So that nobody waits in vain for a server that is gone, or for a test that has failed. */
function assertAlive({ process: { exitCode, signalCode }, output }: TestServer): void {
  if (exitCode !== null || signalCode !== null)
    throw new Error(`The server ended with ${exitCode ?? signalCode}: ${output.slice(-1000)}`)
}

function isSnapshot(text: string): boolean {
  if (!text.includes('full_state')) return false
  const { kind, key } = JSON.parse(text)
  return kind === 'ConversationStateUpdateEvent' && key === 'full_state'
}

/** Sends its messages in order, each as soon as the readers have got as far with their cuts as the writer with its words. */
async function write(
  server: TestServer,
  { id, name, messages, viaSocket }: { id: string; name: string; messages: number; viaSocket: boolean },
  random: Random,
  progress: () => number,
): Promise<void> {
  const params = { conversation_id: id }
  const socket = viaSocket ? new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}`) : undefined
  const echoes: string[] = []
  socket?.on('message', data => echoes.push(String(data)))
  for (let i = 0; i < messages; i++) {
    await until(
      `it is time for message ${i} of ${name}`,
      () => {
        assertAlive(server)
        return progress() >= i / messages
      },
      COMPLETE_MS,
    )
    // Past 65,535 bytes a frame changes its form; 'ß' and '😀' are longer in bytes than in characters.
    const length = random.int(30) === 0 ? 33_000 : random.pick([0, 20, 500])
    const text = `${name} #${i} ${random.pick(['.', 'ß', '😀']).repeat(length)}`
    if (socket) {
      await until('the socket is open', () => socket.readyState === WebSocket.OPEN)
      socket.send(JSON.stringify({ role: 'user', content: text }))
    } else await server.client.sendMessage({ params, body: aMessage(text, random.int(4) === 0) })
    if (random.int(20) === 0) await server.client.updateConversation({ params, body: { tags: { at: `${name}${i}` } } })
  }
  if (!socket) return
  await until(`the last message of ${name} is in the log`, () =>
    echoes.some(echo => echo.includes(`#${messages - 1} `)),
  )
  socket.terminate()
}

/** The whole log over REST, as the JSON texts in the very bytes that came. */
async function readLog(server: TestServer, id: string): Promise<string[]> {
  const log: string[] = []
  let page: string | null = null
  do {
    const query: string = page === null ? '' : `?page_id=${page}`
    const body = await (await fetch(`${server.url}/api/conversations/${id}/events/search${query}`)).text()
    const { items, next_page_id } = JSON.parse(body)
    const texts: string[] = items.map((item: object) => JSON.stringify(item))
    assert.equal(body, `{"items":[${texts.join(',')}],"next_page_id":${JSON.stringify(next_page_id)}}`)
    log.push(...texts)
    page = next_page_id
  } while (page !== null)
  return log
}

function assertSame(seen: readonly string[], log: readonly string[], who: string): void {
  const at = log.findIndex((text, i) => seen[i] !== text)
  if (at >= 0) assert.equal(seen[at], log[at], `${who}: event ${at} of ${log.length}`)
  assert.equal(seen.length, log.length, `${who} has seen more than there is`)
}

test('P2 every reader, cut and resumed at random, sees each event once, in order, without gap', async t => {
  await using server = await TestServer.start()
  const random = new Random()
  const seed = () => new Random(random.int(1_000_000))
  t.diagnostic(`seed ${random.seed} (set GANTRY_TEST_SEED to repeat)`)
  const ids: string[] = []
  for (let i = 0; i < CONVERSATIONS; i++) ids.push((await server.client.startConversation({ body: anOrder() })).id)

  const readers = Array.from(
    { length: READERS },
    (_, i) => new Reader(server, KINDS[i % KINDS.length]!, ids[i % CONVERSATIONS]!, seed()),
  )
  const writers = ids.flatMap((id, c) =>
    [0, 1, 2].map(w => ({
      id,
      name: `writer ${c}.${w}`,
      messages: Math.ceil(MESSAGES / CONVERSATIONS / 3),
      viaSocket: w === 0,
    })),
  )
  const progress = () => readers.reduce((sum, { cuts }) => sum + cuts, 0) / (READERS * CUTS_EACH)
  await Promise.all([
    ...readers.map(reader => reader.beCutOften(CUTS_EACH)),
    ...writers.map(writer => write(server, writer, seed(), progress)),
  ])
  for (const id of ids) await server.atRest(id)

  // Now all are live at once, and one more message shows that nothing else was on its way.
  const lengths = new Map<string, number>()
  for (const id of ids) lengths.set(id, (await readLog(server, id)).length)
  const connections = await Promise.all(readers.map(reader => reader.complete(lengths.get(reader.id)!)))
  const logs = new Map<string, string[]>()
  for (const id of ids) {
    await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage('the last word') })
    logs.set(id, await readLog(server, id))
  }
  await Promise.all(readers.map((reader, i) => reader.complete(logs.get(reader.id)!.length, connections[i])))

  for (const reader of readers) assertSame(reader.seen, logs.get(reader.id)!, `The ${reader.name}`)
  for (const log of logs.values()) {
    const times = log.map(text => JSON.parse(text).timestamp as string)
    for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
    const late = times.findIndex((time, i) => i > 0 && time <= times[i - 1]!)
    assert.equal(late, -1, `${times[late]} follows ${times[late - 1]}`)
  }
  for (const { id, name, messages } of writers) {
    const said = logs.get(id)!.flatMap(text => {
      const { kind, llm_message } = JSON.parse(text)
      return kind === 'MessageEvent' ? [String(llm_message.content[0].text)] : []
    })
    const numbers = said.filter(text => text.startsWith(`${name} `)).map(text => Number(/#(\d+) /.exec(text)?.[1]))
    assert.deepEqual(numbers, [...Array(messages).keys()], `the messages of ${name}`)
  }

  for (const kind of KINDS) {
    const cut = readers.filter(reader => reader.kind === kind).map(({ fruitful, cuts }) => fruitful / cuts)
    const share = cut.reduce((sum, part) => sum + part, 0) / cut.length
    t.diagnostic(`${kind} readers: ${Math.round(100 * share)} % of the cuts after something new`)
    assert.ok(share > FRUITFUL, `too few cuts of ${kind} readers were in the middle of the log`)
  }
  await Promise.all(readers.map((_, i) => connections[i]!.cut(i % 2 === 0)))
  await until('the server has forgotten all readers', async () => {
    const metrics = await (await server.client.metrics()).text()
    return /^gantry_readers 0$/m.test(metrics) && /^gantry_sockets 0$/m.test(metrics)
  })
  const events = logs.values().reduce((sum, log) => sum + log.length, 0)
  t.diagnostic(`${READERS} readers, ${READERS * CUTS_EACH} cuts, ${events} events in ${ids.length} logs`)
})
