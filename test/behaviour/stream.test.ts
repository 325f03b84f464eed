import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ClientError } from '../../src/api/client.ts'
import { READERS_PER_CONVERSATION, SOCKET_FRAME_BYTES } from '../../src/http/limits.ts'
import { newId } from '../../src/lib/id.ts'
import { aMessage, anOrder, count, TestServer } from '../support/server.ts'
import { type Frame, TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const status = (expected: number) => (error: unknown) => error instanceof ClientError && error.status === expected

/** A conversation in which so many messages were said. Nothing runs in it. */
async function conversation(...said: string[]): Promise<string> {
  const { id } = await server.client.startConversation({ body: anOrder() })
  for (const text of said) await say(id, text)
  return id
}

const say = (id: string, text: string, run = false) =>
  server.client.sendMessage({ params: { conversation_id: id }, body: aMessage(text, run) })

async function log(id: string): Promise<Frame[]> {
  return (await server.client.searchEvents({ params: { conversation_id: id } })).items
}

const follow = (id: string, query = '', at = server): Promise<TestSocket> =>
  new TestSocket(at.url, `/sockets/events/${id}${query}`).opened()

const isSnapshot = (frame: Frame): boolean => frame.key === 'full_state'
const isMessage = ({ kind }: Frame): boolean => kind === 'MessageEvent'
const textOf = ({ llm_message }: Frame): string => llm_message.content[0].text
/** What was said to the agent. */
const texts = (events: Frame[]): string[] =>
  events.filter(event => isMessage(event) && event.source === 'user').map(textOf)
const ids = (events: Frame[]): string[] => events.map(({ id }) => id)

/** Waits for a message that comes after all that is under way, so that what did not come before it does not come. */
async function lastWord(id: string, ...readers: { events: Frame[] }[]): Promise<void> {
  const word = `last word ${newId()}`
  await say(id, word)
  for (const reader of readers) await until('the last word came', () => texts(reader.events).includes(word))
}

interface Block {
  id?: string
  data: Frame
  event?: string
}

/** A stream of server-sent events, read to its end. */
class Sse {
  readonly response: Response
  text = ''
  ended = false
  readonly #stop: AbortController

  static async open(id: string, query = '', headers: Record<string, string> = {}, at = server): Promise<Sse> {
    const stop = new AbortController()
    const url = `${at.url}/api/conversations/${id}/events/stream${query}`
    return new Sse(await fetch(url, { headers, signal: stop.signal }), stop)
  }

  private constructor(response: Response, stop: AbortController) {
    this.response = response
    this.#stop = stop
    void this.#read()
  }

  get blocks(): Block[] {
    const whole = this.text.slice(0, this.text.lastIndexOf('\n\n') + 1).split('\n\n')
    return whole.flatMap(block => {
      const fields = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/).slice(0, 2)))
      return fields.data === undefined ? [] : [{ ...fields, data: JSON.parse(fields.data) }]
    })
  }

  /** Log events only. */
  get events(): Frame[] {
    return this.blocks.filter(({ id }) => id !== undefined).map(({ data }) => data)
  }

  async #read(): Promise<void> {
    try {
      const decoder = new TextDecoder()
      for await (const chunk of this.response.body!) this.text += decoder.decode(chunk, { stream: true })
      this.ended = true
    } catch {
      // We left.
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }
}

describe('the first frame of a socket', () => {
  const FIELDS = [
    ...['id', 'agent', 'workspace', 'persistence_dir', 'max_iterations', 'stuck_detection', 'execution_status'],
    ...['confirmation_policy', 'activated_knowledge_skills', 'activated_path_rules', 'invoked_skills'],
    ...['blocked_actions', 'blocked_messages', 'head_is_empty', 'stats', 'secret_registry', 'tags', 'agent_state'],
  ]

  test('is a snapshot of the state: every field of the contract and no other, nulls left out', async () => {
    const id = await conversation()
    using fresh = await follow(id)
    const first = await fresh.frame('any', () => true)
    const { value, ...envelope } = first
    assert.deepEqual(Object.keys(envelope).sort(), ['id', 'key', 'kind', 'source', 'timestamp'])
    assert.equal(first.kind, 'ConversationStateUpdateEvent')
    assert.equal(first.key, 'full_state')
    assert.deepEqual(Object.keys(value).sort(), FIELDS.toSorted())
    assert.equal(value.id, id)
    assert.equal(value.execution_status, 'idle')
    assert.equal(value.head_is_empty, true)
    assert.doesNotMatch(JSON.stringify(first), /:null/)

    await say(id, 'hello')
    using later = await follow(id, '?resend_mode=all')
    const [, message] = await log(id)
    const known = (await later.frame('any', () => true)).value
    assert.deepEqual(Object.keys(known).sort(), [...FIELDS, 'last_user_message_id', 'leaf_event_id'].sort())
    assert.equal(known.last_user_message_id, message.id)
    assert.equal(known.leaf_event_id, message.id)
    assert.equal(known.head_is_empty, false)
  })

  test('P7 shows secrets masked, and skills whole', async () => {
    const order = anOrder({
      agent: {
        kind: 'Agent',
        llm: { model: 'm', api_key: 'canary', aws_secret_access_key: 'canary' },
        agent_context: { skills: [{ name: 's', content: 'a long story' }] },
        mcp_config: { one: { command: 'x', env: { TOKEN: 'canary' } } },
      },
      secrets: { A: 'canary', B: { kind: 'StaticSecret', value: 'canary', description: 'b' } },
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
      hook_config: { stop: [{ hooks: [{ command: 'true' }] }] },
    })
    const { id } = await server.client.startConversation({ body: order })
    using socket = await follow(id)
    const { value } = await socket.frame('any', () => true)
    assert.doesNotMatch(JSON.stringify(value), /canary|sealed:/)
    assert.equal(value.agent.llm.api_key, '**********')
    assert.equal(value.agent.llm.aws_secret_access_key, '**********')
    assert.equal(value.agent.mcp_config.one.env.TOKEN, '**********')
    assert.equal(value.secret_registry.secret_sources.A.value, '**********')
    assert.equal(value.secret_registry.secret_sources.B.description, 'b')
    assert.equal(value.security_analyzer.kind, 'LLMSecurityAnalyzer')
    assert.equal(value.agent.agent_context.skills[0].content, 'a long story')
    assert.ok(value.hook_config)
  })

  test('comes once more when a run is over, to every reader, after the events of the run', async () => {
    const id = await conversation()
    using one = await follow(id)
    using other = await follow(id)
    using sse = await Sse.open(id)
    await say(id, 'go', true)
    for (const frames of [() => one.frames, () => other.frames, () => sse.blocks.map(({ data }) => data)]) {
      const over = (frame: Frame) => isSnapshot(frame) && frame.value.execution_status === 'finished'
      await until('the run is over', () => frames().some(over))
      const before = frames().slice(1, frames().findIndex(over))
      assert.ok(before.some(event => isMessage(event) && event.source === 'agent'))
      assert.deepEqual(
        before.filter(({ key }) => key === 'execution_status').map(({ value }) => value),
        ['running', 'finished'],
      )
      assert.deepEqual(before, await log(id))
    }
  })
})

describe('P2 what a socket replays', () => {
  /** What a socket with this query gets of the log before what is said next. */
  async function replayed(id: string, query: string): Promise<string[]> {
    using socket = await follow(id, query)
    await until('the snapshot came', () => socket.frames[0])
    await lastWord(id, socket)
    assert.ok(isSnapshot(socket.frames[0]))
    return ids(socket.events.slice(0, -2))
  }

  test('nothing, when not asked; everything with resend_mode=all and its old name resend_all', async () => {
    const id = await conversation('a', 'b')
    assert.deepEqual(await replayed(id, ''), [])
    const all = ids(await log(id))
    assert.deepEqual(await replayed(id, '?resend_mode=all'), all)
    assert.deepEqual(await replayed(id, '?resend_all=false'), [])
    assert.deepEqual(await replayed(id, '?resend_all=true'), ids(await log(id)).slice(0, -2))
  })

  test('more than a page of it, too', async () => {
    const id = await conversation()
    await Promise.all(Array.from({ length: 120 }, (_, i) => say(id, `${i}`)))
    const replay = await replayed(id, '?resend_mode=all')
    assert.equal(replay.length, 1 + 240)
    const pages = await Promise.all(
      ['TIMESTAMP', 'TIMESTAMP_DESC'].map(async order => {
        const query = { limit: 100, sort_order: order as 'TIMESTAMP' }
        return ids((await server.client.searchEvents({ params: { conversation_id: id }, query })).items)
      }),
    )
    assert.deepEqual(replay.slice(0, 100), pages[0])
    assert.deepEqual(replay.slice(-98), pages[1]!.toReversed().slice(0, 98))
  })

  test('from a time on with resend_mode=since: inclusive, UTC without an offset, converted with one', async () => {
    const id = await conversation('a', 'b', 'c')
    const events = await log(id)
    const from = events[3]
    const wanted = ids(events.slice(3))
    const since = async (time: string) => {
      const replay = await replayed(id, `?resend_mode=since&after_timestamp=${encodeURIComponent(time)}`)
      return replay.slice(0, replay.length - (await log(id)).length + events.length + 2)
    }
    const shifted = (hours: number, zone: string) => {
      const at = new Date(Date.parse(`${from.timestamp.slice(0, 19)}Z`) + hours * 3_600_000)
      return `${at.toISOString().slice(0, 19)}${from.timestamp.slice(19)}${zone}`
    }
    assert.deepEqual(await since(from.timestamp), wanted)
    assert.deepEqual(await since(`${from.timestamp}Z`), wanted)
    assert.deepEqual(await since(shifted(2, '+02:00')), wanted)
    assert.deepEqual(await since(shifted(-9.5, '-09:30')), wanted)
    assert.deepEqual(await since(events[4].timestamp), wanted.slice(1))
    assert.deepEqual(await since('2000-01-01'), ids(events))
    assert.deepEqual(await since('2100-01-01T00:00:00'), [])
  })

  test('nothing with resend_mode=since and no time; and resend_mode wins over resend_all', async () => {
    const id = await conversation('a')
    assert.deepEqual(await replayed(id, '?resend_mode=since'), [])
    assert.deepEqual(await replayed(id, '?resend_mode=since&resend_all=true'), [])
    const all = ids(await log(id))
    assert.deepEqual(await replayed(id, '?resend_mode=all&resend_all=false'), all)
  })

  test('what came after an event, with after', async () => {
    const id = await conversation('a', 'b')
    const events = ids(await log(id))
    assert.deepEqual(await replayed(id, `?after=${events[0]}`), events.slice(1))
    const last = ids(await log(id)).at(-1)
    assert.deepEqual(await replayed(id, `?after=${last}`), [])
  })
})

describe('the frames of a socket', () => {
  test('P2 hold one event each, whole, in the shortest form there is for its size', async () => {
    const id = await conversation('x', 'x')
    const size = Buffer.byteLength(JSON.stringify((await log(id))[3])) - 1
    const edges = [65_534, 65_535, 65_536, 65_537]
    for (const edge of edges) await say(id, 'x'.repeat(edge - size))
    const client = connect(Number(new URL(server.url).port), '127.0.0.1')
    client.write(handshake(`/sockets/events/${id}?resend_mode=all`))
    const chunks: Buffer[] = []
    client.on('data', (chunk: Buffer) => chunks.push(chunk))
    const frames = () => {
      const answer = Buffer.concat(chunks)
      const end = answer.indexOf('\r\n\r\n')
      return end < 0 ? [] : serverFrames(answer.subarray(end + 4))
    }
    await until('all came', () => frames().length === 2 + 2 * (2 + edges.length))
    const events = frames().slice(1)
    client.destroy()
    assert.deepEqual(
      events.map(({ text }) => text),
      (await log(id)).map(event => JSON.stringify(event)),
    )
    const large = events.filter(({ text }) => text.length > 10_000)
    assert.deepEqual(
      large.map(({ text, header }) => [text.length, header]),
      edges.map(edge => [edge, edge < 65_536 ? 4 : 10]),
    )
  })
})

/** Whole, unmasked, final text frames, each with the size of its header. */
function serverFrames(bytes: Buffer): { header: number; text: string }[] {
  const frames = []
  for (let at = 0; at + 10 <= bytes.length; ) {
    assert.equal(bytes[at], 0x81)
    const short = bytes[at + 1]!
    const header = short < 126 ? 2 : short === 126 ? 4 : 10
    const size =
      header === 2 ? short : header === 4 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
    if (at + header + size > bytes.length) break
    frames.push({ header, text: bytes.toString('utf8', at + header, at + header + size) })
    at += header + size
  }
  return frames
}

describe('a socket that cannot be', () => {
  test('of an unknown conversation, or after an unknown event, is accepted and closed with 4004', async () => {
    const id = await conversation('a')
    const [foreign] = await log(await conversation('b'))
    for (const [path, reason] of [
      [newId(), 'Conversation not found'],
      [`${id}?after=${newId()}`, 'Event not found'],
      [`${id}?after=${foreign.id}`, 'Event not found'],
    ]) {
      using socket = await follow(path!)
      assert.deepEqual(await socket.ended(), { code: 4004, reason })
      assert.deepEqual(socket.frames, [])
    }
  })

  test('of something that is no UUID, or with a bad query, is refused with 403', async () => {
    const id = await conversation()
    for (const path of [
      'nonsense',
      `${id}0`,
      `${id}?resend_mode=some`,
      `${id}?resend_mode=`,
      `${id}?resend_all=perhaps`,
      `${id}?resend_mode=since&after_timestamp=yesterday`,
      `${id}?resend_mode=since&after_timestamp=2026-13-01T00:00:00`,
    ])
      await assert.rejects(follow(path), /refused with 403/, path)
  })

  test('P5 beyond the number a conversation may have is closed with 1013, until another leaves', async () => {
    await using own = await TestServer.start()
    const { id } = await own.client.startConversation({ body: anOrder() })
    using all = new DisposableStack()
    const enter = async () => {
      const socket = all.use(await follow(id, '', own))
      await until('it is told something', () => socket.frames[0] ?? socket.closed)
      return socket
    }
    const first = await enter()
    // Bare connections: nobody looks at what these are told.
    const fill = async () => {
      const client = all.adopt(connect(Number(new URL(own.url).port), '127.0.0.1'), socket => socket.destroy())
      client.write(handshake(`/sockets/events/${id}`))
      await once(client.resume(), 'data')
    }
    for (let left = READERS_PER_CONVERSATION - 1; left > 0; left -= 50)
      await Promise.all(Array.from({ length: Math.min(left, 50) }, fill))
    const readers = async () => Number(/^gantry_readers (\d+)$/m.exec(await (await own.client.metrics()).text())?.[1])
    await until('all are there', async () => (await readers()) === READERS_PER_CONVERSATION)
    const late = await enter()
    assert.deepEqual(late.closed, { code: 1013, reason: 'Too many connections for this conversation' })
    using stream = await Sse.open(id, '', {}, own)
    await until('the stream ended', () => stream.ended)
    assert.equal(stream.blocks[0]?.data.code, 1013)
    await first.close()
    await until('it has left', async () => (await readers()) === READERS_PER_CONVERSATION - 1)
    assert.equal((await enter()).closed, undefined)
    assert.equal((await enter()).closed?.code, 1013)
  })

  test('P6 with a target that is no address is refused, and the server lives', async () => {
    for (const target of ['//', 'http://[', '/sockets/events/%ff', '*']) {
      const answer = await upgrade(target)
      assert.match(answer, /^HTTP\/1.1 4\d\d /, target)
    }
    assert.equal((await fetch(`${server.url}/alive`)).status, 200)
  })

  test('P5 and whose client is gone before the answer harms nobody', async () => {
    for (let i = 0; i < 100 && server.process.exitCode === null; i++) {
      const client = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined)
      await once(client, 'connect')
      client.write(handshake('/sockets/nonsense'))
      await setImmediate()
      client.resetAndDestroy()
    }
    assert.equal((await fetch(`${server.url}/alive`)).status, 200)
  })
})

const handshake = (target: string): string =>
  [
    `GET ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    '\r\n',
  ].join('\r\n')

/** The beginning of what a raw upgrade request is answered. */
async function upgrade(target: string): Promise<string> {
  const client = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined)
  try {
    client.write(handshake(target))
    const [answer] = await Promise.race([once(client, 'data'), once(client, 'close')])
    return String(answer)
  } finally {
    client.destroy()
  }
}

/** A masked text frame of less than 126 bytes, as a client sends it; the mask is zero. */
function clientFrame(frame: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(frame))
  assert.ok(text.length < 126)
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text])
}

describe('a message on a socket', () => {
  test('is stored, echoed to all readers and starts a run; its content may be parts or plain text', async () => {
    const id = await conversation()
    using speaker = await follow(id)
    using listener = await follow(id)
    using sse = await Sse.open(id)
    const image = { type: 'image' as const, image_urls: ['data:image/png;base64,AA=='] }
    const parts = [{ type: 'text' as const, text: 'in parts' }, image]
    speaker.send({ role: 'user', content: parts })
    speaker.send({ role: 'user', content: 'plain' })
    for (const reader of [speaker, listener, sse]) {
      await until('both came', () => texts(reader.events).includes('plain'))
      const [first, second] = reader.events.filter(event => isMessage(event) && event.source === 'user')
      assert.equal(first.source, 'user')
      assert.deepEqual(
        first.llm_message.content.map(({ type }: Frame) => type),
        ['text', 'image'],
      )
      assert.deepEqual(first.llm_message.content[1].image_urls, image.image_urls)
      assert.equal(second.llm_message.content[0].text, 'plain')
      await until('a run began', () => reader.events.some(({ value }) => value === 'running'))
    }
    assert.deepEqual(texts(await log(id)), ['in parts', 'plain'])
  })

  test('that is wrong is answered on that socket alone, nothing is stored, and the socket stays open', async () => {
    const id = await conversation()
    using speaker = await follow(id)
    using listener = await follow(id)
    const errors = () => speaker.frames.filter(({ kind }) => kind === 'ServerErrorEvent')
    const wrong: [frame: unknown, code: string][] = [
      ['{"role":"user"', 'JSONDecodeError'],
      ['', 'JSONDecodeError'],
      ['[]', 'ValidationError'],
      ['null', 'ValidationError'],
      [{ content: 'no role' }, 'ValidationError'],
      [{ role: 'user', content: [{ type: 'sound' }] }, 'ValidationError'],
      [{ role: 'user', content: 1 }, 'ValidationError'],
      [{ role: 'king', content: 'x' }, 'ValidationError'],
      [{ type: 'auth', session_api_key: 'x', more: 1 }, 'ValidationError'],
    ]
    for (const [i, [frame, code]] of wrong.entries()) {
      speaker.send(frame)
      await until(`error ${i} came`, () => errors().length > i)
      assert.equal(errors()[i].code, code, JSON.stringify(frame))
    }
    for (const role of ['assistant', 'system', 'tool']) speaker.send({ role, content: 'x' })
    await until('three more came', () => errors().length === wrong.length + 3)
    for (const error of errors()) {
      assert.deepEqual(Object.keys(error).sort(), ['code', 'detail', 'id', 'kind', 'source', 'timestamp'])
      assert.ok(error.code.length > 0 && error.detail.length > 0)
    }
    assert.deepEqual(await log(id), [])
    speaker.send({ role: 'user', content: 'right' })
    await until('it came', () => texts(listener.events).includes('right'))
    assert.ok(listener.frames.every(({ kind }) => kind !== 'ServerErrorEvent'))
    assert.deepEqual(texts(await log(id)), ['right'])
  })

  test('that only brings the key again is ignored, right or wrong', async () => {
    const id = await conversation()
    using socket = await follow(id)
    socket.send({ type: 'auth', session_api_key: server.key })
    socket.send({ type: 'auth', session_api_key: 'wrong' })
    socket.send({ type: 'auth' })
    socket.send({ role: 'user', content: 'after' })
    await until('it came', () => texts(socket.events).includes('after'))
    assert.ok(socket.frames.every(({ kind }) => kind !== 'ServerErrorEvent'))
    assert.deepEqual(texts(await log(id)), ['after'])
  })

  test('P2 keeps its order, sent right behind another', async () => {
    const id = await conversation()
    using socket = await follow(id)
    const numbers = Array.from({ length: 50 }, (_, i) => `${i}`)
    // The odd ones are larger: their storing must not be overtaken.
    for (const text of numbers) socket.send({ role: 'user', content: text.padEnd(Number(text) % 2 ? 100_000 : 1) })
    await until('all came', () => texts(socket.events).length === numbers.length)
    assert.deepEqual(
      texts(socket.events).map(text => text.trim()),
      numbers,
    )
    assert.deepEqual(
      texts(await eventsOf(id)).map(text => text.trim()),
      numbers,
    )
  })

  test('P2 keeps its order and is echoed, when it comes in one piece with another and with the handshake', async () => {
    for (let i = 0; i < count({ sample: 10, deep: 500 }); i++) {
      const id = await conversation()
      const client = connect(Number(new URL(server.url).port), '127.0.0.1')
      const frames = ['one', 'two', 'three'].map(content => clientFrame({ role: 'user', content }))
      client.write(Buffer.concat([Buffer.from(handshake(`/sockets/events/${id}`)), ...frames]))
      let answer = ''
      client.setEncoding('utf8').on('data', chunk => {
        answer += chunk
      })
      await until('the last echo came', () => answer.includes('"three"'))
      client.destroy()
      assert.match(answer, /^HTTP\/1.1 101 .*"full_state".*"one".*"two".*"three"/s)
      assert.deepEqual(texts(await log(id)), ['one', 'two', 'three'])
    }
  })

  test('P5 larger than a frame may be closes its socket with 1009, and no other', async () => {
    const id = await conversation()
    using modest = await follow(id)
    const tooMuch = JSON.stringify({ role: 'user', content: 'x'.repeat(SOCKET_FRAME_BYTES) })
    // Often, for the reason must not be lost on its way when the rest of the frame is still coming.
    for (let i = 0; i < count({ sample: 6, deep: 20 }); i++) {
      using greedy = await follow(id)
      await until('the snapshot came', () => greedy.frames[0])
      greedy.send(tooMuch)
      assert.equal((await greedy.ended()).code, 1009)
    }
    await lastWord(id, modest)
    assert.equal(modest.closed, undefined)
    assert.equal((await log(id)).length, 3)
  })
})

/** The whole log, page by page. */
async function eventsOf(id: string): Promise<Frame[]> {
  const events: Frame[] = []
  let page_id: string | null = null
  do {
    const page: Frame = await server.client.searchEvents({ params: { conversation_id: id }, query: { page_id } })
    events.push(...page.items)
    page_id = page.next_page_id
  } while (page_id)
  return events
}

describe('server-sent events', () => {
  test('say what they are: content type, no caching, when to come back', async () => {
    using sse = await Sse.open(await conversation('a'))
    assert.equal(sse.response.status, 200)
    assert.match(sse.response.headers.get('Content-Type')!, /^text\/event-stream/)
    assert.match(sse.response.headers.get('Cache-Control')!, /no-store/)
    await until('something came', () => sse.text)
    assert.match(sse.text, /^retry: \d+\n\n/)
  })

  test('P2 begin with the snapshot, then give the log from the start; only log events have ids', async () => {
    const id = await conversation('a', 'b')
    using sse = await Sse.open(id)
    await say(id, 'c', true)
    const over = ({ data }: Block) => isSnapshot(data) && data.value.execution_status === 'finished'
    await until('the run is over', () => sse.blocks.some(over))
    assert.ok(isSnapshot(sse.blocks[0]!.data))
    for (const { id, data } of sse.blocks) assert.equal(id, isSnapshot(data) ? undefined : data.id)
    assert.deepEqual(sse.events, await log(id))
  })

  test('P2 go on after Last-Event-ID, which wins over after', async () => {
    const id = await conversation('a', 'b', 'c')
    const events = ids(await log(id))
    const cases: [query: string, headers: Record<string, string>, from: number][] = [
      ['', { 'Last-Event-ID': events[1]! }, 2],
      [`?after=${events[3]}`, {}, 4],
      [`?after=${events[0]}`, { 'Last-Event-ID': events[4]! }, 5],
      [`?after=${events[0]}`, { 'Last-Event-ID': '' }, 1],
    ]
    for (const [query, headers, from] of cases) {
      using sse = await Sse.open(id, query, headers)
      await lastWord(id, sse)
      const wanted = (await eventsOf(id)).slice(from)
      assert.deepEqual(sse.events, wanted, `${query} ${JSON.stringify(headers)}`)
    }
  })

  test('after an unknown event are 404', async () => {
    const id = await conversation('a')
    const [foreign] = await log(await conversation('b'))
    for (const unknown of [newId(), foreign.id]) {
      using byHeader = await Sse.open(id, '', { 'Last-Event-ID': unknown })
      assert.equal(byHeader.response.status, 404)
      using byQuery = await Sse.open(id, `?after=${unknown}`)
      assert.equal(byQuery.response.status, 404)
    }
  })

  test('P5 asked for with HEAD leave no reader behind', async () => {
    const id = await conversation()
    for (let i = 0; i < 3; i++) await fetch(`${server.url}/api/conversations/${id}/events/stream`, { method: 'HEAD' })
    const readers = async () => /^gantry_readers (\d+)$/m.exec(await (await server.client.metrics()).text())?.[1]
    await until('no reader is left', async () => (await readers()) === '0')
  })
})

describe('the end of a stream', () => {
  test('P4 deleting a conversation closes its sockets with 4004, ends its streams, and harms no other', async () => {
    const id = await conversation('a')
    const other = await conversation('b')
    using socket = await follow(id, '?resend_mode=all')
    using sse = await Sse.open(id)
    using bystander = await follow(other)
    using streaming = await Sse.open(other)
    for (const reader of [socket, sse]) await until('it is read', () => reader.events.length === 3)
    await until('the other is read', () => bystander.frames.length === 1 && streaming.events.length === 3)
    await server.client.deleteConversation({ params: { conversation_id: id } })
    assert.equal((await socket.ended()).code, 4004)
    await until('the stream ended', () => sse.ended)
    const last = sse.blocks.at(-1)!
    assert.equal(last.event, 'close')
    assert.equal(last.data.code, 4004)
    await lastWord(other, bystander, streaming)
    assert.equal(bystander.closed, undefined)
    assert.equal(streaming.ended, false)
  })

  test('P1 SIGTERM closes sockets with 1012, ends streams, and the process exits with 0', async () => {
    await using own = await TestServer.start()
    const { id } = await own.client.startConversation({ body: anOrder({ initial_message: aMessage('a') }) })
    using socket = await follow(id, '?resend_mode=all', own)
    using deaf = await follow(id, '', own)
    deaf.socket.pause()
    using sse = await Sse.open(id, '', {}, own)
    for (const reader of [socket, sse]) await until('it is read', () => texts(reader.events).length === 1)
    // Somebody who was refused and does not leave.
    const refused = connect({ port: Number(new URL(own.url).port), host: '127.0.0.1', allowHalfOpen: true })
    refused.on('error', () => undefined).write(handshake('/sockets/nonsense'))
    await once(refused, 'data')
    own.process.kill('SIGTERM')
    const code = () => own.process.exitCode ?? own.process.signalCode
    await until('the process ended', () => code() !== null)
    refused.destroy()
    assert.equal(code(), 0)
    assert.equal((await socket.ended()).code, 1012)
    await until('the stream ended', () => sse.ended)
    assert.deepEqual([sse.blocks.at(-1)!.event, sse.blocks.at(-1)!.data.code], ['close', 1012])
  })
})

describe('P1 nothing is told before it is durable', () => {
  test('an event can be fetched the moment it is seen', async () => {
    const id = await conversation()
    using socket = await follow(id)
    await until('the snapshot came', () => socket.frames[0])
    const fetched: Promise<Frame>[] = []
    socket.socket.on('message', data => {
      const event = JSON.parse(String(data))
      if (!isSnapshot(event))
        fetched.push(server.client.getEvent({ params: { conversation_id: id, event_id: event.id } }))
    })
    const messages = count({ sample: 80, deep: 2000 })
    for (let i = 0; i < messages; i += 4) await Promise.all([0, 1, 2, 3].map(k => say(id, `${i + k}`)))
    await until('all came', () => fetched.length === 1 + 2 * messages)
    const events = await Promise.all(fetched)
    assert.deepEqual(ids(events), ids(socket.events))
  })
})

describe('events over REST', () => {
  test('null fields are left out of streams and pages, and are there in a single event and in a batch', async () => {
    const id = await conversation('a')
    const params = { conversation_id: id }
    const listed = (await log(id)).find(isMessage)
    using socket = await follow(id, '?resend_mode=all')
    using sse = await Sse.open(id)
    for (const reader of [socket, sse])
      assert.deepEqual(await until('it came', () => reader.events.find(isMessage)), listed)
    assert.doesNotMatch(JSON.stringify(listed), /:null/)
    const single: Frame = await server.client.getEvent({ params: { ...params, event_id: listed.id } })
    const NULLS = ['critic_result', 'llm_response_id', 'sender']
    assert.deepEqual(
      Object.keys(single)
        .filter(key => single[key] === null)
        .sort(),
      NULLS,
    )
    assert.ok(NULLS.every(key => !(key in listed)))
    assert.deepEqual(
      JSON.parse(JSON.stringify(single), (_, value) => value ?? undefined),
      listed,
    )
    const [batched] = await server.client.batchEvents({ params, query: { ids: [listed.id] } })
    assert.deepEqual(batched, single)
    await assert.rejects(server.client.getEvent({ params: { ...params, event_id: newId() } }), status(404))
  })

  test('a batch keeps the order of its ids, named in the query or in a body, with null for the unknown', async () => {
    const id = await conversation('a', 'b')
    const [first, , third] = ids(await log(id))
    const [foreign] = ids(await log(await conversation('c')))
    const wanted = [third!, newId(), first!, foreign!, third!]
    const expected = [third, null, first, null, third]
    const params = { conversation_id: id }
    const byQuery = await server.client.batchEvents({ params, query: { ids: wanted } })
    assert.deepEqual(
      byQuery.map(event => event?.id ?? null),
      expected,
    )
    assert.deepEqual(await getWithBody(`/api/conversations/${id}/events`, wanted), { status: 200, body: byQuery })
    assert.deepEqual(await server.client.batchEvents({ params }), [])
    const many = Array.from({ length: 101 }, newId)
    await assert.rejects(server.client.batchEvents({ params, query: { ids: many } }), status(422))
    assert.equal((await getWithBody(`/api/conversations/${id}/events`, many)).status, 422)
    assert.equal((await getWithBody(`/api/conversations/${id}/events`, { ids: wanted })).status, 422)
  })

  test('a search finds by kind, source, words and time, and a count agrees with it', async () => {
    const id = await conversation('Red apples', 'ÄPFEL and pears', 'nothing')
    await say(id, 'Äpfel again', true)
    const params = { conversation_id: id }
    await server.atRest(id)
    const all = await log(id)
    const where = (keep: (event: Frame, i: number) => boolean) => ids(all.filter(keep))
    const from = (source: string) => where(event => event.source === source)
    const says = (pattern: RegExp) => (event: Frame) => isMessage(event) && pattern.test(textOf(event))
    const dotted = 'openhands.sdk.event.llm_convertible.message.MessageEvent'
    const cases: [filters: Record<string, string>, expected: string[]][] = [
      [{}, ids(all)],
      [{ kind: 'MessageEvent' }, where(isMessage)],
      [{ kind: dotted }, where(isMessage)],
      [{ kind: 'SystemPromptEvent' }, ids(all.slice(0, 1))],
      [{ kind: 'Message' }, []],
      [{ source: 'user' }, from('user')],
      [{ source: 'agent' }, from('agent')],
      [{ source: 'environment' }, from('environment')],
      [{ source: 'hook' }, []],
      [{ body: 'APPLE' }, where(says(/apple/))],
      [{ body: 'äpfel' }, where(says(/äpfel/i))],
      [{ body: 'red apples' }, where(says(/Red apples/))],
      [{ body: 'built-in guide' }, where(says(/built-in guide/))],
      [{ body: 'environment' }, []],
      [{ body: '%' }, []],
      [{ body: 'äpfel', kind: 'MessageEvent', source: 'user' }, where(says(/äpfel/i))],
      [{ body: 'äpfel', source: 'agent' }, []],
      [{ timestamp__gte: all[3].timestamp }, where((_, i) => i >= 3)],
      [{ timestamp__lt: all[3].timestamp }, where((_, i) => i < 3)],
      [{ timestamp__gte: `${all[2].timestamp}Z`, timestamp__lt: `${all[5].timestamp}+00:00` }, ids(all.slice(2, 5))],
      [{ timestamp__gte: all[5].timestamp, timestamp__lt: all[2].timestamp }, []],
      [{ timestamp__gte: '2100-01-01' }, []],
      [{ timestamp__lt: '2100-01-01' }, ids(all)],
      [{ timestamp__gte: all[3].timestamp, kind: 'MessageEvent' }, where((event, i) => i >= 3 && isMessage(event))],
    ]
    for (const [query, expected] of cases) {
      const what = JSON.stringify(query)
      const { items } = await server.client.searchEvents({ params, query })
      assert.deepEqual(ids(items), expected, what)
      const descending = { ...query, sort_order: 'TIMESTAMP_DESC' as const }
      const backward = await server.client.searchEvents({ params, query: descending })
      assert.deepEqual(ids(backward.items), expected.toReversed(), what)
      assert.equal(await server.client.countEvents({ params, query }), expected.length, what)
    }
  })

  test('pages cover everything once, in each order and with filters, and an unknown page_id starts anew', async () => {
    const id = await conversation('a', 'b', 'c', 'd', 'e', 'f')
    const params = { conversation_id: id }
    const all = await log(id)
    for (const sort_order of ['TIMESTAMP', 'TIMESTAMP_DESC'] as const)
      for (const filters of [{}, { kind: 'MessageEvent' }])
        for (const limit of [1, 3, 5, 6, 100]) {
          const seen: string[] = []
          let page_id: string | null = null
          do {
            const query = { ...filters, limit, page_id, sort_order }
            const page: Frame = await server.client.searchEvents({ params, query })
            assert.ok(page.items.length === limit || page.next_page_id === null)
            assert.ok(page.items.length > 0)
            seen.push(...ids(page.items))
            page_id = page.next_page_id
          } while (page_id !== null)
          const wanted = ids('kind' in filters ? all.filter(({ kind }) => kind === filters.kind) : all)
          assert.deepEqual(seen, sort_order === 'TIMESTAMP' ? wanted : wanted.toReversed())
        }
    const anew = await server.client.searchEvents({ params, query: { page_id: 'nonsense', limit: 2 } })
    assert.deepEqual(ids(anew.items), ids(all.slice(0, 2)))
  })

  test('a limit out of range, an unknown order and a time that is none are 422', async () => {
    const params = { conversation_id: await conversation() }
    const bad = [{ limit: 0 }, { limit: 101 }, { limit: -1 }, { sort_order: 'UP' as 'TIMESTAMP' }]
    for (const query of [...bad, { timestamp__gte: 'yesterday' }])
      await assert.rejects(server.client.searchEvents({ params, query }), status(422), JSON.stringify(query))
    await assert.rejects(server.client.countEvents({ params, query: { timestamp__lt: '12:00' } }), status(422))
  })
})

/** `fetch` does not send a body with GET; some clients do. */
async function getWithBody(path: string, body: unknown): Promise<{ status: number | undefined; body: unknown }> {
  const text = JSON.stringify(body)
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
  const sent = request(server.url + path, { headers }).end(text)
  const [response] = await once(sent, 'response')
  const chunks = await Array.fromAsync<Buffer>(response)
  return { status: response.statusCode, body: JSON.parse(String(Buffer.concat(chunks))) }
}
