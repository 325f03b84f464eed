/**
 * `npm run bench`, or `npm run bench -- lists starts` for some of it: one table. Absolute figures depend on the machine; the goals are for 2 cores, and the ratios hold
 * anywhere.
 */
import { spawn } from 'node:child_process'
import { Console } from 'node:console'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '../src/lib/id.ts'
import { now } from '../src/lib/time.ts'
import { SqliteStore } from '../src/store/sqlite.ts'
import { aMessage, anOrder, GANTRY, TestServer, tempFolder } from '../test/support/server.ts'
import { agents } from './agents.ts'
import { get, type LoadResult, load, post, quantile } from './load.ts'
import { sandboxes } from './sandboxes.ts'
import { anEvent, seed } from './seed.ts'
import { countFrames } from './sockets.ts'
import { starts } from './starts.ts'

const rows: { what: string; figure: string; goal: string; met: string }[] = []
const report = (what: string, figure: string, goal = '', met?: boolean) => {
  rows.push({ what, figure, goal, met: met === undefined ? '' : met ? 'yes' : 'NO' })
  process.stderr.write(`${what}: ${figure}\n`)
}
const thousands = (n: number) => Math.round(n).toLocaleString('en')
const ms = (n: number) => `${n.toFixed(2)} ms`

/** Quiet, so that what is measured is the work and not the log. */
const QUIET = ['--log-level', 'warn']

async function coldStart(): Promise<void> {
  const data = await tempFolder()
  const times: number[] = []
  for (let i = 0; i < 16; i++) {
    const port = 20_000 + Math.floor(Math.random() * 20_000)
    const started = performance.now()
    const child = spawn(process.execPath, [GANTRY, '--port', String(port), '--data', data, ...QUIET], {
      stdio: 'ignore',
    })
    while (
      !(await fetch(`http://127.0.0.1:${port}/health`).then(
        r => r.ok,
        () => false,
      ))
    )
      await new Promise(resolve => setTimeout(resolve, 1))
    times.push(performance.now() - started)
    // The first start fills the compile cache half a second after it listens.
    if (i === 0) await new Promise(resolve => setTimeout(resolve, 1000))
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
  const [first, ...rest] = times
  rest.sort((a, b) => a - b)
  await rm(data, { recursive: true })
  report('cold start, p50', ms(quantile(rest, 0.5)), '< 200 ms', quantile(rest, 0.5) < 200)
  report('cold start, the very first', ms(first!))
}

function rss(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

async function requests(): Promise<void> {
  await using server = await TestServer.start({ args: QUIET })
  await fetch(`${server.url}/health`)
  await new Promise(resolve => setTimeout(resolve, 2000))
  const idle = rss(server.pid)
  report('idle RSS', `${idle.toFixed(1)} MB`, '< 80 MB', idle < 80)
  const { id } = await server.client.startConversation({ body: anOrder() })
  report('idle RSS after a write, with the writing thread', `${rss(server.pid).toFixed(1)} MB`)
  for (let i = 0; i < 25; i++)
    await server.client.sendMessage({ params: { conversation_id: id }, body: aMessage('x'.repeat(500)) })
  const health = await load(server.url, () => get('/health'), 32, 4000)
  report('GET /health', show(health))
  const search = await load(server.url, () => get(`/api/conversations/${id}/events/search?limit=50`), 32, 4000)
  report('event search, 50 events', show(search))
}

const show = ({ perSecond, p95, errors }: LoadResult) =>
  `${thousands(perSecond)}/s, p95 ${ms(p95)}${errors > 0 ? `, ${errors} ERRORS` : ''}`

/** Through the store port, as an agent's loop would. */
async function appends(): Promise<void> {
  const data = await tempFolder()
  const store = SqliteStore.open(join(data, 'gantry.db'))
  for (const writers of [1, 64]) {
    const folded = { head: 0, status: 'idle', updatedAt: now(), state: JSON.stringify({ x: 'x'.repeat(600) }) }
    const ids = Array.from({ length: writers }, newId)
    for (const id of ids)
      await store.createConversation(
        { ...folded, id, createdAt: now(), title: null, parentId: null, sandbox: null, parts: {} },
        [],
      )
    const records = await store.conversations(ids)
    const deadline = performance.now() + 4000
    const started = performance.now()
    let done = 0
    await Promise.all(
      records.map(async record => {
        for (let head = 0; performance.now() < deadline; head++) {
          await store.append({ ...folded, no: record!.no, after: head, head: head + 1, events: [anEvent(now())] })
          done += 1
        }
      }),
    )
    const perSecond = (done / (performance.now() - started)) * 1000
    const goal: [string?, boolean?] = writers === 64 ? ['≥ 10,000/s', perSecond >= 10_000] : []
    report(`durable appends of 2 KB, ${writers} writer${writers > 1 ? 's' : ''}`, `${thousands(perSecond)}/s`, ...goal)
  }
  await store.close()
  await rm(data, { recursive: true })
}

async function messages(): Promise<void> {
  await using server = await TestServer.start({ args: QUIET })
  const ids: string[] = []
  for (let i = 0; i < 64; i++) ids.push((await server.client.startConversation({ body: anOrder() })).id)
  const body = JSON.stringify(aMessage('x'.repeat(500)))
  const many = await load(server.url, n => post(`/api/conversations/${ids[n % 64]}/events`, body), 64, 4000)
  report('durable messages over HTTP, 64 conversations', show(many))
  const one = await load(server.url, () => post(`/api/conversations/${ids[0]}/events`, body), 64, 4000)
  report('durable messages over HTTP, 1 conversation', show(one))
}

async function fanOut(): Promise<void> {
  await using server = await TestServer.start({ args: QUIET })
  const { id } = await server.client.startConversation({ body: anOrder() })
  const counter = { frames: 0 }
  const sockets = await Promise.all(
    Array.from({ length: 200 }, () => countFrames(server.url, `/sockets/events/${id}`, counter)),
  )
  while (counter.frames < 200) await new Promise(resolve => setTimeout(resolve, 10))
  counter.frames = 0
  const body = JSON.stringify(aMessage('x'.repeat(300)))
  const started = performance.now()
  const { perSecond } = await load(server.url, () => post(`/api/conversations/${id}/events`, body), 64, 4000)
  const events = await server.client.countEvents({ params: { conversation_id: id } })
  while (counter.frames < events * 200 && performance.now() - started < 30_000)
    await new Promise(resolve => setTimeout(resolve, 1))
  const deliveries = counter.frames / ((performance.now() - started) / 1000)
  for (const close of sockets) close()
  const complete = counter.frames === events * 200
  report(
    'fan-out to 200 sockets',
    `${thousands(deliveries)} deliveries/s (${thousands(perSecond)} messages/s, ${complete ? 'all' : 'NOT ALL'} delivered)`,
    '≥ 500,000/s',
    deliveries >= 500_000 && complete,
  )
}

/** A page of a list costs the page, not the list. */
async function lists(): Promise<void> {
  const small = await tempFolder()
  const large = await tempFolder()
  const ids = [await seed(small, 100, 100), await seed(large, 100_000, 100_000)]
  const servers = [
    await TestServer.start({ data: small, args: QUIET }),
    await TestServer.start({ data: large, args: QUIET }),
  ]
  const paths = {
    'first page of conversations': () => '/api/conversations/search?limit=20',
    'first page of app conversations': () => '/api/v1/app-conversations/search?limit=20',
    'newest 50 events': (i: number) => `/api/conversations/${ids[i]}/events/search?limit=50&sort_order=TIMESTAMP_DESC`,
  }
  for (const [what, path] of Object.entries(paths)) {
    const p95: number[][] = [[], []]
    // Turn about, so that a noisy moment harms both.
    for (let round = 0; round < 6; round++)
      for (const i of [0, 1]) p95[i]!.push((await load(servers[i]!.url, () => get(path(i)), 1, 700)).p95)
    const [few, many] = p95.map(rounds =>
      quantile(
        rounds.toSorted((a, b) => a - b),
        0.5,
      ),
    ) as [number, number]
    report(`${what}, p95 at 100`, ms(few))
    report(`${what}, p95 at 100,000`, `${ms(many)} (× ${(many / few).toFixed(2)})`, '≤ 1.5 ×', many / few <= 1.5)
  }
  for (const server of servers) await server[Symbol.asyncDispose]()
  for (const data of [small, large]) await rm(data, { recursive: true })
}

const parts = { coldStart, requests, appends, messages, fanOut, lists, sandboxes, agents, starts }

/** All of them, or those that are named. */
const named = process.argv.slice(2)
for (const [name, part] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await part(report)
new Console(process.stdout).table(rows)
