import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Draft } from '../../src/api/draft.ts'
import { Event, type MessageEvent } from '../../src/api/events.ts'
import { place } from '../../src/conversation/draft.ts'
import { initialState, isTreeNode } from '../../src/conversation/state.ts'
import { newId } from '../../src/lib/id.ts'
import { parseTime } from '../../src/lib/time.ts'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, GANTRY, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Ticks of one counter: what was acknowledged at 5 was there before what was sent at 6. */
interface Sent {
  sent: number
  acknowledged?: number
  /** It was there after a crash, though the acknowledgement never came. */
  unheard?: true
  /** It was not there after a crash, so it must never appear. */
  absent?: true
}

/** A value that one caller at a time writes: what was acknowledged last, and what nobody knows the fate of. */
interface Register {
  value: string | undefined
  unknown?: string
}

interface Known extends Sent {
  id: string
  messages: Map<string, Sent>
  patches: Map<string, Sent>
  /** Of title and tags, which every patch sets together. */
  description: Register
}

type Answer = 'acknowledged' | 'unknown'

/** A client that hammers a server, and writes down what it sent and what was acknowledged. */
class Hammer {
  readonly random: Random
  readonly conversations: Known[] = []
  readonly settings = new Map<string, Register>()
  readonly secrets = new Map<string, Register>()
  tick = 0
  #server: TestServer | undefined
  #agent = new Agent()
  #requests = 0
  #onSent: ((requests: number) => void) | undefined
  #names = 0

  constructor(random: Random) {
    this.random = random
  }

  connect(server: TestServer): void {
    this.#agent.destroy()
    this.#agent = new Agent({ keepAlive: true })
    this.#server = server
    this.#requests = 0
    this.#onSent = undefined
  }

  /** Writes on many connections until nobody answers any more. Tells which conversations it touched. */
  async hammer(onSent: (requests: number) => void): Promise<Known[]> {
    this.#onSent = onSent
    const there = this.conversations.filter(({ acknowledged }) => acknowledged)
    const old = there.length > 0 ? [this.random.pick(there)] : []
    const created = Array.from({ length: 3 }, () => this.#newConversation())
    await Promise.all([
      ...old.map(conversation => this.#talk(conversation)),
      ...created.map(async conversation => {
        if ((await this.#create(conversation)) === 'acknowledged') await this.#talk(conversation)
      }),
      ...['a', 'b'].map(key => forever(() => this.#patchSettings(key))),
      ...['A', 'B'].map(half => forever(() => this.#putSecret(half + this.random.int(3)))),
    ])
    return [...old, ...created]
  }

  /** One write of each sort, on what is there. */
  async once(conversation: Known | undefined): Promise<Answer[]> {
    return Promise.all([
      ...(conversation ? [this.#message(conversation), this.#describe(conversation)] : []),
      this.#patchSettings('a'),
      this.#putSecret('A0'),
    ])
  }

  #patchSettings(key: string): Promise<Answer> {
    return this.#write(register(this.settings, key), value =>
      this.#call('PATCH', '/api/settings', { misc_settings_diff: { [key]: value } }),
    )
  }

  #putSecret(name: string): Promise<Answer> {
    return this.#write(register(this.secrets, name), value =>
      this.#call('PUT', '/api/settings/secrets', { name, value }),
    )
  }

  #newConversation(): Known {
    const conversation = {
      id: newId(),
      sent: 0,
      messages: new Map(),
      patches: new Map(),
      description: { value: undefined },
    }
    this.conversations.push(conversation)
    return conversation
  }

  #create(conversation: Known): Promise<Answer> {
    const text = this.#text()
    const isFirst = this.random.int(2) === 0
    const order = anOrder({ conversation_id: conversation.id, ...(isFirst && { initial_message: aMessage(text) }) })
    const sent = [conversation, ...(isFirst ? [put(conversation.messages, text, { sent: 0 })] : [])]
    return this.#record(sent, () => this.#call('POST', '/api/conversations', order))
  }

  async #talk(conversation: Known): Promise<void> {
    await Promise.all([
      forever(() => this.#message(conversation)),
      forever(() => this.#message(conversation)),
      forever(() => this.#describe(conversation)),
    ])
  }

  #message(conversation: Known): Promise<Answer> {
    const text = this.#text()
    const sent = put(conversation.messages, text, { sent: 0 })
    const body = aMessage(text, this.random.int(10) === 0)
    return this.#record([sent], () => this.#call('POST', `/api/conversations/${conversation.id}/events`, body))
  }

  #describe(conversation: Known): Promise<Answer> {
    return this.#write(conversation.description, value => {
      const sent = put(conversation.patches, value, { sent: 0 })
      const body = { title: value, tags: { n: value } }
      return this.#record([sent], () => this.#call('PATCH', `/api/conversations/${conversation.id}`, body))
    })
  }

  async #write(register: Register, write: (value: string) => Promise<Answer>): Promise<Answer> {
    const value = `v${++this.#names}`
    register.unknown = value
    const answer = await write(value)
    if (answer === 'acknowledged') {
      register.value = value
      delete register.unknown
    }
    return answer
  }

  async #record(sent: Sent[], call: () => Promise<Answer>): Promise<Answer> {
    for (const one of sent) one.sent = ++this.tick
    const answer = await call()
    if (answer === 'acknowledged') for (const one of sent) one.acknowledged = ++this.tick
    return answer
  }

  /** Short and long: some need pages of their own. */
  #text(): string {
    return `m${++this.#names} ${'ä!'.repeat(this.random.pick([1, 10, 500, 8000]))}`
  }

  #call(method: string, path: string, body: object): Promise<Answer> {
    const { url, key } = this.#server!
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'X-Session-API-Key': key }
      const call = request(url + path, { method, headers, agent: this.#agent }, response => {
        response.on('error', () => undefined).resume()
        const status = response.statusCode!
        if (status < 300) resolve('acknowledged')
        else reject(new Error(`${method} ${path} was answered with ${status}`))
      })
      call.on('error', () => resolve('unknown'))
      call.end(JSON.stringify(body), () => this.#onSent?.(++this.#requests))
    })
  }
}

const register = (map: Map<string, Register>, name: string): Register =>
  map.get(name) ?? put(map, name, { value: undefined })

const put = <T>(map: Map<string, T>, key: string, value: T): T => {
  map.set(key, value)
  return value
}

async function forever(write: () => Promise<Answer>): Promise<void> {
  while ((await write()) === 'acknowledged');
}

/** Every event, page by page. */
async function eventsOf({ client }: TestServer, conversation_id: string, sort_order: 'TIMESTAMP' | 'TIMESTAMP_DESC') {
  const events: Event[] = []
  let page_id: string | null = null
  do {
    const page = await client.searchEvents({ params: { conversation_id }, query: { limit: 37, page_id, sort_order } })
    events.push(...page.items)
    page_id = page.next_page_id
  } while (page_id)
  return events
}

const isSent = (event: Event): event is MessageEvent => event.kind === 'MessageEvent' && event.source === 'user'

const textIn = (event: Event): string | undefined =>
  isSent(event) && event.llm_message.content[0]?.type === 'text' ? event.llm_message.content[0].text : undefined

/** Compares what was sent with what is there, in the order of the log. From now on the fate of all of it is known. */
function settle(what: string, sent: Map<string, Sent>, there: string[], tick: number): void {
  assert.equal(new Set(there).size, there.length, `${what} is there twice`)
  let laterAcknowledged = Number.POSITIVE_INFINITY
  for (const name of there.toReversed()) {
    const one = sent.get(name) ?? assert.fail(`${what} ${name.slice(0, 20)} was never sent like this`)
    assert.ok(!one.absent, `${what} ${name.slice(0, 20)} came back`)
    assert.ok(
      one.sent < laterAcknowledged,
      `${what} ${name.slice(0, 20)} stands before one that was acknowledged first`,
    )
    laterAcknowledged = Math.min(laterAcknowledged, one.acknowledged ?? Number.POSITIVE_INFINITY)
  }
  const present = new Set(there)
  for (const [name, one] of sent) {
    if (!present.has(name)) {
      assert.equal(one.acknowledged, undefined, `${what} ${name.slice(0, 20)} was acknowledged and is lost`)
      one.absent = true
    } else if (!one.acknowledged) {
      one.acknowledged = tick
      one.unheard = true
    }
  }
}

function settleRegister(what: string, register: Register, value: string | undefined): void {
  const possible = 'unknown' in register ? [register.value, register.unknown] : [register.value]
  assert.ok(possible.includes(value), `${what} is ${value}, not one of ${possible}`)
  register.value = value
  delete register.unknown
}

/** What is shown of a conversation while nothing happens to it: a run that was going is taken up after a crash. */
function atRest(server: TestServer, id: string) {
  const { client } = server
  const get = async () => (await client.batchConversations({ query: { ids: [id] } }))[0]
  return until('the conversation is at rest', async () => {
    const info = await get()
    if (!info) return { info, events: [], backward: [], number: 0 }
    const events = await eventsOf(server, id, 'TIMESTAMP')
    const backward = await eventsOf(server, id, 'TIMESTAMP_DESC')
    const number = await client.countEvents({ params: { conversation_id: id } })
    const isAtRest = info.execution_status !== 'running' && isDeepStrictEqual(await get(), info)
    return isAtRest ? { info, events, backward, number } : undefined
  })
}

/** Everything acknowledged is there once and in order, nothing is there by half, and what is shown is the log folded. */
async function verify(server: TestServer, hammer: Hammer, conversation: Known): Promise<void> {
  const { id, messages, patches, description } = conversation
  const { info, events, backward, number } = await atRest(server, id)
  if (!info) {
    assert.equal(conversation.acknowledged, undefined, `conversation ${id} was acknowledged and is lost`)
    conversation.absent = true
    return
  }
  assert.ok(!conversation.absent, `conversation ${id} came back`)
  conversation.acknowledged ??= ++hammer.tick

  assert.deepEqual(backward, events.toReversed())
  assert.equal(number, events.length)
  assert.equal(new Set(events.map(event => event.id)).size, events.length)
  const folded = { status: 'idle', leaf: null as string | null, message: null as string | null, tags: {} }
  let time = ''
  for (const [i, event] of events.entries()) {
    Event.parse(event)
    assert.ok(event.timestamp > time, `event ${i + 1} of ${id} is not later than the one before`)
    time = event.timestamp
    assert.equal(event.parent_id ?? null, folded.leaf)
    if (isTreeNode(event)) folded.leaf = event.id
    if (event.kind === 'ConversationStateUpdateEvent') {
      if (event.key === 'execution_status') folded.status = event.value as string
      if (event.key === 'last_user_message_id') folded.message = event.value as string
      if (event.key === 'tags') folded.tags = event.value as object
    }
    if (isSent(event)) {
      const next = events[i + 1]
      assert.ok(next?.kind === 'ConversationStateUpdateEvent' && next.value === event.id, 'half a message is there')
    }
  }
  assert.deepEqual(
    { status: info.execution_status, leaf: info.leaf_event_id, message: info.last_user_message_id, tags: info.tags },
    folded,
  )
  const [first, ...others] = events.filter(isTreeNode)
  if (first) assert.equal(first.kind, 'SystemPromptEvent', 'a message is there without the prompt before it')
  assert.ok(others.every(({ kind }) => kind === 'MessageEvent'))
  assert.notEqual(info.execution_status, 'error')
  const tick = ++hammer.tick
  settle(
    'message',
    messages,
    events.flatMap(event => textIn(event) ?? []),
    tick,
  )
  const tags = events.flatMap(event =>
    event.kind === 'ConversationStateUpdateEvent' && event.key === 'tags' ? [(event.value as { n: string }).n] : [],
  )
  settle('patch', patches, tags, tick)
  settleRegister('the title', description, info.title ?? undefined)
  assert.equal(info.tags.n, info.title ?? undefined, 'half a patch is there')
}

async function verifySettings({ client }: TestServer, { settings, secrets }: Hammer): Promise<void> {
  const { misc_settings } = await client.getSettings()
  for (const [key, register] of settings)
    settleRegister(`the setting ${key}`, register, misc_settings[key] as string | undefined)
  const there = (await client.listSecrets()).secrets.map(({ name }) => name)
  for (const [name, register] of secrets) {
    const value = there.includes(name) ? await (await client.getSecretValue({ params: { name } })).text() : undefined
    settleRegister(`the secret ${name}`, register, value)
  }
  for (const name of there) assert.ok(secrets.has(name), `the secret ${name} was never sent`)
}

/** Burns time to hit the middle of what the server does in it; a timer is too coarse. */
function spin(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('P1: what is acknowledged is durable', () => {
  const random = new Random()
  const kills = count({ sample: 3, deep: 200 })

  test(`kill -9 at ${kills} moments of heavy writing loses nothing and leaves nothing half (seed ${random.seed})`, async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const hammer = new Hammer(random)
    let touched: Known[] = []
    for (let kill = 1; kill <= kills; kill++) {
      await using server = await TestServer.start({ data })
      hammer.connect(server)
      await verifySettings(server, hammer)
      for (const conversation of kill % 20 === 0 ? hammer.conversations : touched)
        await verify(server, hammer, conversation)
      const alive = hammer.conversations.findLast(conversation => conversation.acknowledged)
      for (const answer of await hammer.once(alive)) assert.equal(answer, 'acknowledged')

      const end = () => server.process.kill('SIGKILL')
      if (random.int(3) === 0) {
        const ms = random.int(300)
        touched = await hammer.hammer(requests => {
          if (requests === 1) setTimeout(end, ms)
        })
      } else {
        const [number, ms] = [1 + random.int(100), random.pick([0, 0, random.next() * 6])]
        touched = await hammer.hammer(requests => {
          if (requests !== number) return
          spin(ms)
          end()
        })
      }
      if (alive) touched.push(alive)
      assert.equal(await server.stop('SIGKILL'), 'SIGKILL')
    }
    await using server = await TestServer.start({ data })
    hammer.connect(server)
    await verifySettings(server, hammer)
    for (const conversation of hammer.conversations) await verify(server, hammer, conversation)
    for (const conversation of hammer.conversations.filter(({ acknowledged }) => acknowledged).slice(-3)) {
      for (const answer of await hammer.once(conversation)) assert.equal(answer, 'acknowledged')
      await verify(server, hammer, conversation)
    }
    assert.equal(await server.stop(), 0)
    using database = new DatabaseSync(join(data, 'gantry.db'))
    assert.deepEqual(database.prepare('PRAGMA integrity_check').all(), [{ __proto__: null, integrity_check: 'ok' }])
    const broken = database
      .prepare(
        `SELECT id FROM conversations c
         WHERE (SELECT count(*) FROM events WHERE conversation = no) <> head
         OR head <> coalesce((SELECT max(seq) FROM events WHERE conversation = no), 0)`,
      )
      .all()
    assert.deepEqual(broken, [])
    const sent = hammer.conversations.flatMap(({ messages, patches }) => [...messages.values(), ...patches.values()])
    const kept = sent.filter(({ acknowledged }) => acknowledged)
    const unheard = kept.filter(one => one.unheard).length
    t.diagnostic(
      `${sent.length} messages and patches: ${kept.length - unheard} acknowledged, ${unheard} kept without it`,
    )
    assert.ok(kept.length - unheard > kills, 'hardly anything was acknowledged: this proved nothing')
  })
})

describe('P1: the first start', () => {
  const random = new Random()
  const kills = count({ sample: 2, deep: 80 })

  test(`kill -9 at ${kills} moments of it leaves a folder that the next start can use (seed ${random.seed})`, async t => {
    for (let kill = 0; kill < kills; kill++) {
      const data = await tempFolder()
      t.after(() => rm(data, { recursive: true, force: true }))
      // Whatever the server does first, it does it to files: each change of one is a moment.
      let changes = 1 + random.int(25)
      const child = spawn(process.execPath, [GANTRY, '--port', '0', '--data', data], { stdio: 'pipe' })
      const watcher = watch(data, () => {
        if (--changes === 0) child.kill('SIGKILL')
      })
      child.stdout.once('data', () => child.kill('SIGKILL'))
      await once(child, 'exit')
      watcher.close()
      await using server = await TestServer.start({ data })
      const { id } = await server.client.startConversation({ body: anOrder() })
      assert.equal((await server.client.getConversation({ params: { conversation_id: id } })).id, id)
    }
  })
})

/** What a server says that starts on a folder which has an owner. */
async function refusal(data: string): Promise<string> {
  const started = await TestServer.start({ data }).catch((error: Error) => error)
  if (started instanceof Error) return started.message
  await started[Symbol.asyncDispose]()
  return assert.fail('a second server started')
}

describe('P1: one server a data folder', () => {
  test('a second server ends at once and names the owner, who goes on', async () => {
    await using owner = await TestServer.start()
    const started = performance.now()
    const said = await refusal(owner.data)
    const took = performance.now() - started
    assert.match(said, new RegExp(`^The server ended with 1: gantry: .*process ${owner.pid}\\b`))
    assert.ok(said.includes(owner.data))
    assert.ok(took < 1000, `it took ${took} ms`)
    const { id } = await owner.client.startConversation({ body: anOrder() })
    assert.equal((await owner.client.getConversation({ params: { conversation_id: id } })).id, id)
  })

  test('after kill -9 of the owner the next start takes over at once, with everything', async () => {
    await using first = await TestServer.start()
    const { id } = await first.client.startConversation({ body: anOrder() })
    const params = { conversation_id: id }
    await first.client.sendMessage({ params, body: aMessage('hello') })
    await first.stop('SIGKILL')
    for (let messages = 1; messages <= count({ sample: 2, deep: 3 }); messages++) {
      const started = performance.now()
      await using owner = await TestServer.start({ data: first.data })
      const took = performance.now() - started
      assert.ok(took < 2000, `it took ${took} ms`)
      assert.equal(await owner.client.countEvents({ params, query: { kind: 'MessageEvent' } }), messages)
      assert.match(await refusal(first.data), new RegExp(`process ${owner.pid}\\b`))
      await owner.client.sendMessage({ params, body: aMessage('hello') })
    }
  })

  const racers = count({ sample: 3, deep: 20 })
  test(`of ${racers} racing starts exactly one wins, on a new folder and after a kill -9`, async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    for (let round = 0; round < 2; round++) {
      const starts = await Promise.allSettled(Array.from({ length: racers }, () => TestServer.start({ data })))
      const winners = starts.flatMap(start => (start.status === 'fulfilled' ? [start.value] : []))
      for (const start of starts)
        if (start.status === 'rejected')
          assert.match(start.reason.message, /^The server ended with 1: gantry: .* in use by/)
      try {
        assert.equal(winners.length, 1)
        await winners[0]!.client.startConversation({ body: anOrder() })
        assert.equal(await winners[0]!.client.countConversations(), round + 1)
      } finally {
        await Promise.all(winners.map(winner => winner[Symbol.asyncDispose]()))
      }
    }
  })
})

describe('P2: times in a log', () => {
  const draft: Draft = { kind: 'PauseEvent', source: 'user' }
  const begun = initialState({
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    tags: {},
    last_event_at: parseTime('2026-03-01T10:00:00')!,
  })
  const SECOND = 1_000_000
  const DAY = 86_400 * SECOND
  const clocks: Record<string, (n: number) => number> = {
    'goes on': n => n * SECOND,
    'stands still': () => 5 * SECOND,
    'goes backwards': n => -n * SECOND,
    'jumps back a day': n => n * SECOND - (n >= 5 ? DAY : 0),
    'jumps ahead a year and back': n => n * SECOND + (n === 3 ? 365 * DAY : 0),
    'repeats an hour': n => n * SECOND - (n >= 4 ? 3600 * SECOND : 0),
  }
  for (const [what, clock] of Object.entries(clocks))
    test(`strictly increase, and are never before the clock, when it ${what}`, () => {
      let state = begun
      const shown: number[] = []
      const times: string[] = []
      for (let n = 0; n < 10; n++) {
        const now = () => {
          const at = begun.last_event_at + clock(n)
          shown.push(at)
          return at
        }
        const placed = place(state, [draft, draft], now)
        state = placed.state
        times.push(...placed.events.map(event => event.timestamp))
      }
      assert.equal(new Set(times).size, 20)
      assert.deepEqual(times, times.toSorted())
      assert.ok(times.every(time => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/.test(time)))
      const read = times.map(time => parseTime(time)!)
      assert.ok(read[0]! > begun.last_event_at)
      for (const [i, at] of read.entries())
        assert.equal(at, Math.max(shown[i]!, (read[i - 1] ?? begun.last_event_at) + 1))
    })
})
