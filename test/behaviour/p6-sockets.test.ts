import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { sockets } from '../../src/api/routes/sockets.ts'
import { SOCKET_AUTH_MS } from '../../src/http/limits.ts'
import { newId } from '../../src/lib/id.ts'
import {
  type Case,
  expected,
  MODES,
  type Mode,
  provenances,
  signIn,
  socketCredentials,
  startIn,
} from '../support/access.ts'
import { exchange, head, inParallel, sendRaw } from '../support/exchange.ts'
import { aMessage, anOrder, DEEP, type TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const servers = {} as Record<Mode, TestServer>
const ids = {} as Record<Mode, string>
const cookies = {} as Record<Mode, string>
before(async () => {
  ;[servers.local, servers.key] = await Promise.all([startIn('local'), startIn('key')])
  for (const mode of MODES) {
    cookies[mode] = await signIn(servers[mode])
    const body = anOrder({ initial_message: aMessage('for the owner only') })
    ids[mode] = (await servers[mode].client.startConversation({ body })).id
    await servers[mode].atRest(ids[mode])
  }
})
after(() => Promise.all(Object.values(servers).map(server => server[Symbol.asyncDispose]())))

const logOf = (mode: Mode) => servers[mode].client.searchEvents({ params: { conversation_id: ids[mode] } })

/** A socket that asks for the whole log of the conversation. */
function open(mode: Mode, ...cases: Case[]): TestSocket {
  const query = ['resend_mode=all', ...cases.flatMap(({ query }) => query ?? [])].join('&')
  const headers = Object.assign({}, ...cases.map(({ headers }) => headers))
  return new TestSocket(servers[mode].url, `/sockets/events/${ids[mode]}?${query}`, headers)
}

const refusal = (socket: TestSocket): Promise<string> =>
  socket.opened().then(
    () => 'opened',
    (error: Error) => error.message,
  )

const hasTheLog = ({ frames }: TestSocket): boolean => frames.some(frame => frame.kind === 'MessageEvent')

describe('P6: the socket, in both modes, for every credential from everywhere', () => {
  for (const mode of MODES)
    test(`${mode} mode`, async () => {
      const before = await logOf(mode)
      const attempts = socketCredentials(servers[mode], cookies[mode]).flatMap(credential =>
        provenances(servers[mode]).map(provenance => ({ credential, provenance })),
      )
      const found = await inParallel(attempts, async ({ credential, provenance }) => {
        const want = expected(sockets.events.access, mode, credential.brings, provenance.from)
        const got = await treatment(mode, credential, provenance)
        const right =
          want === 'in' ? 'in' : want === 401 && credential.brings !== 'wrong' ? 'asked' : 'refused with 403'
        return got === right ? [] : [`${credential.name}, ${provenance.name}: ${got}, not ${right}`]
      })
      assert.deepEqual(found.flat(), [])
      assert.deepEqual(await logOf(mode), before)
    })

  /** In with the log at once; asked for the key, and in once it comes; or refused. */
  async function treatment(mode: Mode, ...cases: Case[]): Promise<string> {
    using socket = open(mode, ...cases)
    const refused = await refusal(socket)
    if (refused !== 'opened') return refused
    // Whoever is in already sees the log and no harm in a second key; whoever is not is shown the door for a wrong one.
    socket.send({ type: 'auth', session_api_key: 'wrong' })
    const end = await until('the log came or the socket was closed', () =>
      hasTheLog(socket) ? 'in' : socket.closed?.code,
    )
    if (end === 'in') return 'in'
    if (end !== 4001 || socket.frames.length > 0) return `closed with ${end} after ${socket.frames.length} frames`
    using second = open(mode, ...cases)
    await second.opened()
    second.send({ type: 'auth', session_api_key: servers[mode].key })
    await until('the log came', () => hasTheLog(second))
    return 'asked'
  }
})

describe('P6: the first message', () => {
  const wrong: Record<string, string | object> = {
    'a wrong key': { type: 'auth', session_api_key: 'wrong' },
    'no key': { type: 'auth' },
    'an empty key': { type: 'auth', session_api_key: '' },
    'no string': { type: 'auth', session_api_key: [] },
    'another type': { type: 'hello', session_api_key: 'KEY' },
    'the bare key': 'KEY',
    'a message': aMessage('let me in', true),
    'no JSON': '{',
    nothing: '',
  }
  for (const [name, frame] of Object.entries(wrong))
    test(`${name} closes with 4001, shows nothing and stores nothing`, async () => {
      const before = await logOf('key')
      using socket = open('key')
      await socket.opened()
      socket.send((typeof frame === 'string' ? frame : JSON.stringify(frame)).replace('KEY', servers.key.key))
      socket.send(aMessage('and once more', true))
      assert.equal((await socket.ended()).code, 4001)
      assert.deepEqual(socket.frames, [])
      assert.deepEqual(await logOf('key'), before)
    })

  test('the key opens, and messages sent right behind it are heard', async () => {
    using socket = open('key')
    await socket.opened()
    socket.send({ type: 'auth', session_api_key: servers.key.key })
    socket.send(aMessage('heard'))
    const heard = await socket.frame('the message', frame => JSON.stringify(frame).includes('heard'))
    assert.equal(heard.kind, 'MessageEvent')
  })

  test('silence is closed with 4001 in the end', {
    skip: !DEEP && 'waits ten seconds: npm run test:deep',
  }, async () => {
    using socket = open('key')
    await socket.opened()
    const started = performance.now()
    const { code } = await until('the silent socket was closed', () => socket.closed, SOCKET_AUTH_MS + 5000)
    assert.equal(code, 4001)
    assert.ok(performance.now() - started > SOCKET_AUTH_MS - 1000)
    assert.deepEqual(socket.frames, [])
  })
})

describe('P6: an upgrade request that is not one of ours', () => {
  /** Whoever kills it fails alone: the next test gets another. */
  let victim: TestServer
  beforeEach(async () => {
    const alive = victim && (await exchange(victim.url, { path: '/health' }).then(Boolean, () => false))
    if (alive) return
    await victim?.[Symbol.asyncDispose]()
    victim = await startIn('key')
  })
  after(() => victim[Symbol.asyncDispose]())

  const upgrade = (target: string, ...headers: string[]) =>
    head(`GET ${target} HTTP/1.1`, ...headers, 'Upgrade: websocket').replace('Connection: close', 'Connection: Upgrade')

  const isAlive = async ({ url, process, output }: TestServer) => {
    assert.equal(process.exitCode, null, output)
    assert.equal((await exchange(url, { path: '/health' })).status, 200)
  }

  for (const target of [
    '//',
    '///',
    '/\\',
    'http://',
    'http://[',
    'http://x:y/',
    '*',
    '//sockets/events/ID',
    '/sockets/events/ID/',
    '/sockets/events/ID/x',
    '/sockets//events/ID',
    '/SOCKETS/events/ID',
    '/sockets/events/ID;x',
    '/sockets/events/',
    '/sockets/events/%ff',
    '/sockets/events/xyz',
    '/sockets/events/..',
    '/api/conversations',
    '/health',
  ])
    test(`${target} leads nowhere, and the server lives`, async () => {
      const own = `Host: ${new URL(victim.url).host}`
      const { status } = await sendRaw(victim.url, upgrade(target.replace('ID', ids.key), own))
      await isAlive(victim)
      assert.ok([400, 403, 404].includes(status), `${target}: ${status}`)
    })

  test('a Host that is missing, malformed or not ours is refused', async () => {
    const { url } = servers.local
    const target = `/sockets/events/${ids.local}`
    for (const hosts of [
      [],
      ['Host:'],
      ['Host: a b'],
      ['Host: foo?'],
      ['Host: evil.example'],
      ['Host: evil.example:80'],
    ])
      assert.match(String((await sendRaw(url, upgrade(target, ...hosts))).status), /^40[03]$/, String(hosts))
  })

  test('a caller that hangs up on its refusal does no harm', async () => {
    const { hostname, port, host } = new URL(victim.url)
    for (const target of ['/nowhere', `/sockets/events/${ids.key}?session_api_key=wrong`]) {
      const callers = Array.from({ length: 100 }, () => connect(Number(port), hostname))
      await Promise.all(callers.map(caller => once(caller, 'connect')))
      await isAlive(victim)
      // All at once: by the time the server answers the later ones, they have asked and are gone.
      await Promise.all(
        callers.map(caller => new Promise(resolve => caller.write(upgrade(target, `Host: ${host}`), resolve))),
      )
      for (const caller of callers) caller.resetAndDestroy()
      await isAlive(victim)
    }
  })

  test('a request that offers another protocol is answered in this one', async () => {
    const request = head('GET /health HTTP/1.1', `Host: ${new URL(victim.url).host}`, 'Upgrade: h2c').replace(
      'Connection: close',
      'Connection: Upgrade, close',
    )
    assert.match((await sendRaw(victim.url, request)).text, /^HTTP\/1\.1 200 .*"status":"ok"/s)
  })
})

test('P6: a conversation that does not exist is closed with 4004, for those who may know', async () => {
  const path = `/sockets/events/${newId()}`
  using known = new TestSocket(servers.key.url, path, { 'X-Session-API-Key': servers.key.key })
  assert.equal((await known.ended()).code, 4004)
  using unknown = new TestSocket(servers.key.url, path)
  await unknown.opened()
  unknown.send({ type: 'auth', session_api_key: 'wrong' })
  assert.equal((await unknown.ended()).code, 4001)
})
