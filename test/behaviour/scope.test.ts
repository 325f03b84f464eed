import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient } from '../../src/api/client.ts'
import type { RouteSpec } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { head, sendRaw } from '../support/exchange.ts'
import { ask, Box, NO_WALLS } from '../support/hands.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const KEY = 'the key of the whole server'

let server: TestServer
let a: Box
let b: Box
/** One conversation in each sandbox, and one in the default one. */
let ofA: string
let ofB: string
let ofNone: string
before(async () => {
  if (NO_WALLS) return
  server = await TestServer.start({ env: { SESSION_API_KEY: KEY } })
  ;[a, b] = await Promise.all([Box.start(server), Box.start(server)])
  const create = async (client: Client, text: string) =>
    (await client.startConversation({ body: anOrder({ initial_message: aMessage(text) }) })).id
  ofA = await create(a.client, 'said in A')
  ofB = await create(b.client, 'said in B')
  ofNone = await create(server.client, 'said in none')
  await server.client.putSecret({ body: { name: 'TOKEN', value: 'a stored value' } })
  await a.sh('echo printed in A > /workspace/project/only-a; echo printed in A')
  await b.sh('echo printed in B')
})
after(() => server?.[Symbol.asyncDispose]())

const own = (box: Box) => `/sandboxes/${box.id}`
const fill = (path: string) =>
  path
    .replace('{conversation_id}', ofB)
    .replace('{sandbox_id}', b.id)
    .replace('{port}', '8000')
    .replace(/\{\w+\}/g, 'TOKEN')
/** With the key of the whole server, at the root and below a sandbox’s own path. */
const at = (prefix: string, key = KEY) => createClient({ baseUrl: server.url + prefix, key })
const LEAK = /said in|printed in|a stored value|TOKEN"/
const all = Object.entries<RouteSpec>(routes)

describe('what a sandbox’s key opens', { skip: NO_WALLS }, () => {
  const managing = all.filter(([, { access, confined }]) => access !== 'free' && access !== 'sandbox' && !confined)
  const confined = all.filter(([, spec]) => spec.confined)

  test('there are routes of both sorts', () => assert.ok(managing.length > 15 && confined.length > 25))

  for (const [name, { method, path }] of managing)
    test(`${name}: not for the key of a sandbox, wherever it is asked for`, async () => {
      for (const prefix of ['', own(a), own(b)]) {
        const { status, text } = await ask(server, method, prefix + fill(path), { key: a.key })
        assert.ok([401, 403, 404].includes(status), `${prefix}: ${status} ${text}`)
        assert.doesNotMatch(text, LEAK)
      }
      const below = await ask(server, method, own(a) + fill(path), { key: KEY })
      assert.equal(below.status, 404, `with the server’s key, below a sandbox: ${below.text}`)
    })

  for (const [name, { method, path }] of confined)
    test(`${name}: not in another sandbox, in none that is not there, nor without a key`, async () => {
      const answers = await Promise.all([
        ask(server, method, own(b) + fill(path), { key: a.key }),
        ask(server, method, `/sandboxes/unknown${fill(path)}`, { key: KEY }),
        ask(server, method, `/sandboxes/unknown${fill(path)}`, { key: a.key }),
        ask(server, method, own(a) + fill(path)),
        ask(server, method, own(a) + fill(path), { key: 'wrong' }),
      ])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [403, 404, 403, 401, 401],
      )
      for (const { text } of answers) assert.doesNotMatch(text, LEAK)
    })

  test('every route about a conversation of another sandbox is 404', async () => {
    const about = confined.filter(([, { path }]) => path.includes('{conversation_id}'))
    assert.ok(about.length > 8)
    for (const [name, { method, path }] of about)
      for (const prefix of ['', own(a)]) {
        const body = method === 'GET' ? undefined : { title: 'x', role: 'user', content: [], accept: true }
        const { status, text } = await ask(server, method, prefix + fill(path), { key: a.key, body })
        assert.ok(status === 404 || status === 422, `${name}: ${status} ${text}`)
        assert.doesNotMatch(text, LEAK)
      }
  })
})

describe('conversations stay in their sandbox', { skip: NO_WALLS }, () => {
  const idsIn = async (client: Client) => {
    const [page, count, batch] = await Promise.all([
      client.searchConversations(),
      client.countConversations(),
      client.batchConversations({ query: { ids: [ofA, ofB, ofNone] } }),
    ])
    const ids = page.items.map(({ id }) => id)
    assert.equal(count, ids.length)
    for (const one of batch) assert.ok(!one || ids.includes(one.id))
    return ids.sort()
  }

  test('a sandbox’s key sees its own, at the root and below its path', async () => {
    for (const prefix of ['', own(a)]) assert.deepEqual(await idsIn(at(prefix, a.key)), [ofA])
    for (const prefix of ['', own(b)]) assert.deepEqual(await idsIn(at(prefix, b.key)), [ofB])
  })

  test('the server’s key sees all at the root, and only its own below a sandbox', async () => {
    assert.deepEqual(await idsIn(at('')), [ofA, ofB, ofNone].sort())
    assert.deepEqual(await idsIn(at(own(a))), [ofA])
  })

  test('what is created at the root with a sandbox’s key is in that sandbox', async () => {
    const { id } = await at('', a.key).startConversation({ body: anOrder() })
    assert.deepEqual(await idsIn(a.client), [ofA, id].sort())
    assert.deepEqual(await idsIn(b.client), [ofB])
    await a.client.deleteConversation({ params: { conversation_id: id } })
  })

  test('creating one under an id that is taken elsewhere tells nothing of it and changes nothing', async () => {
    const { status, text } = await ask(server, 'POST', '/api/conversations', {
      key: a.key,
      body: anOrder({ conversation_id: ofB, initial_message: aMessage('from A') }),
    })
    assert.ok([403, 404, 409].includes(status), `${status} ${text}`)
    assert.doesNotMatch(text, LEAK)
    const events = await b.client.searchEvents({ params: { conversation_id: ofB } })
    assert.doesNotMatch(JSON.stringify(events), /from A/)
  })

  test('files, commands and what they printed stay there too', async () => {
    assert.equal(await a.sh('cat only-a'), 'printed in A')
    assert.equal(await b.sh('ls'), '')
    const printed = async (client: Client) => JSON.stringify((await client.searchBashEvents()).items)
    assert.match(await printed(at('', a.key)), /printed in A/)
    assert.doesNotMatch(await printed(at('', a.key)), /printed in B/)
    assert.doesNotMatch(await printed(at(own(a))), /printed in B/)
    assert.doesNotMatch(await printed(b.client), /printed in A/)
    const { items } = await a.client.searchBashEvents()
    for (const { id } of items)
      assert.equal((await ask(server, 'GET', `/api/bash/bash_events/${id}`, { key: b.key })).status, 404)
    await ask(server, 'DELETE', '/api/bash/bash_events', { key: b.key })
    assert.match(await printed(a.client), /printed in A/)
  })

  test('the cookie for workspace files opens those of the sandbox whose key it was got with', async () => {
    await b.sh('mkdir -p /workspace && echo page of B > /workspace/page.txt')
    const session = async (key: string, prefix = '') => {
      const { headers } = await ask(server, 'POST', `${prefix}/api/auth/workspace-session`, { key })
      return String(headers['set-cookie']?.[0]).split(';')[0]!
    }
    const read = async (cookie: string, id: string, prefix = '') =>
      (await ask(server, 'GET', `${prefix}/api/conversations/${id}/workspace/page.txt`, { headers: { cookie } })).status
    const [mine, theirs, below] = [await session(b.key), await session(a.key), await session(KEY, own(a))]
    assert.equal(await read(mine, ofB), 200)
    assert.equal(await read(mine, ofB, own(b)), 200)
    assert.equal(await read(await session(KEY), ofB), 200)
    for (const cookie of [theirs, below, theirs.replace(a.id, b.id), theirs.replace(`.${a.id}`, '')])
      for (const prefix of ['', own(b)])
        assert.ok([401, 403, 404].includes(await read(cookie, ofB, prefix)), `${cookie} at ${prefix}`)
  })
})

describe('sockets stay in their sandbox', { skip: NO_WALLS }, () => {
  type Bring = 'header' | 'query' | 'first message'
  const BRINGS: Bring[] = ['header', 'query', 'first message']
  const open = (path: string, key: string, bring: Bring): TestSocket => {
    const query = bring === 'query' ? `&session_api_key=${encodeURIComponent(key)}` : ''
    const headers = bring === 'header' ? { 'X-Session-API-Key': key } : {}
    const socket = new TestSocket(server.url, `${path}?resend_mode=all${query}`, headers as Record<string, string>)
    if (bring === 'first message')
      void socket.opened().then(
        () => socket.send({ type: 'auth', session_api_key: key }),
        () => undefined,
      )
    return socket
  }
  const events = (id: string) => `/sockets/events/${id}`
  /** The first thing that happens: something is told, or the door is shut. */
  const outcome = async (socket: TestSocket): Promise<string> => {
    socket.socket.on('unexpected-response', (_request, response) => {
      socket.closed = { code: response.statusCode ?? 0, reason: '' }
    })
    await until('something happened', () => socket.closed || socket.events.length > 0)
    return socket.closed ? `closed ${socket.closed.code}` : 'told'
  }

  for (const bring of BRINGS)
    test(`with the key in the ${bring}`, async () => {
      const cases: [path: string, key: string, expected: RegExp][] = [
        [events(ofA), a.key, /^told$/],
        [own(a) + events(ofA), a.key, /^told$/],
        [own(a) + events(ofA), KEY, /^told$/],
        [events(ofB), KEY, /^told$/],
        [events(ofB), a.key, /^closed 4004$/],
        [events(ofNone), a.key, /^closed 4004$/],
        [own(a) + events(ofB), a.key, /^closed 4004$/],
        [own(a) + events(ofB), KEY, /^closed 4004$/],
        [own(b) + events(ofB), a.key, /^closed (4004|403)$/],
        [own(b) + events(ofA), a.key, /^closed (4004|403)$/],
        [`/sandboxes/unknown${events(ofA)}`, KEY, /^closed 4004$/],
        [`/sandboxes/unknown${events(ofA)}`, a.key, /^closed (4004|403)$/],
        [own(a) + events(ofA), 'wrong', /^closed (4001|403)$/],
        [`${own(b)}/sockets/bash-events`, a.key, /^closed (4004|403)$/],
        ['/sandboxes/unknown/sockets/bash-events', KEY, /^closed 4004$/],
      ]
      for (const [path, key, expected] of cases) {
        using socket = open(path, key, bring)
        assert.match(await outcome(socket), expected, `${path} with ${key === KEY ? 'the server’s key' : key}`)
        if (!expected.test('told')) assert.doesNotMatch(JSON.stringify(socket.frames), LEAK)
      }
    })

  for (const bring of BRINGS)
    test(`commands are told to those who are there alone: with the key in the ${bring}`, async () => {
      const path = '/sockets/bash-events'
      using ofA = open(own(a) + path, a.key, bring)
      using rootOfA = open(path, a.key, bring)
      using ofB = open(own(b) + path, b.key, bring)
      await Promise.all([ofA, rootOfA, ofB].map(socket => socket.opened()))
      const word = `word-${bring.length}`
      await a.sh(`echo ${word} A; true`)
      await b.sh(`echo ${word} B; true`)
      const hears = (socket: TestSocket, what: string) => JSON.stringify(socket.frames).includes(what)
      await until(
        'each heard its own',
        () => hears(ofA, `${word} A`) && hears(rootOfA, `${word} A`) && hears(ofB, `${word} B`),
      )
      assert.ok(!hears(ofA, `${word} B`) && !hears(rootOfA, `${word} B`) && !hears(ofB, `${word} A`))
    })
})

/** What comes until the server hangs up, or has said something after its head. */
async function firstWords(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk
  })
  socket.write(bytes, 'latin1')
  const isOver = () => socket.closed || (text.split('\r\n\r\n')[1]?.length ?? 0) > 1
  await until('the server said something', isOver)
  socket.destroy()
  return text
}

describe('ways to write a path', { skip: NO_WALLS }, () => {
  test('none leads out of the sandbox whose key it comes with', async () => {
    const rest = `/api/conversations/${ofB}`
    const tricks = [
      `${own(a)}/..${own(b)}${rest}`,
      `${own(a)}/../../sandboxes/${b.id}${rest}`,
      `${own(a)}/../..${rest}`,
      `${own(a)}/%2e%2e/%2e%2e${rest}`,
      `${own(a)}%2f..%2f${b.id}${rest}`,
      `${own(a)}/..%2f${b.id}${rest}`,
      `/sandboxes/${a.id}/sandboxes/${b.id}${rest}`,
      `/sandboxes/${b.id}/sandboxes/${a.id}${rest}`,
      `/sandboxes/${b.id.toUpperCase()}${rest}`,
      `/SANDBOXES/${b.id}${rest}`,
      `/sandboxes/${b.id}%00${rest}`,
      `/sandboxes/%61${b.id}${rest}`,
      `/sandboxes//${b.id}${rest}`,
      `//sandboxes/${b.id}${rest}`,
      `/sandboxes/${a.id};${b.id}${rest}`,
      `/sandboxes/${a.id}\\..\\${b.id}${rest}`,
      `/sandboxes/${b.id}${rest}`,
      `${own(a)}/api/conversations/${ofB.replaceAll('-', '')}`,
      `${own(a)}/api/conversations/${ofB.toUpperCase()}`,
      `${own(a)}/api/conversations/${ofA}/../${ofB}`,
      `${own(a)}/api/conversations/${ofA}%2f..%2f${ofB}`,
      `http://${new URL(server.url).host}/sandboxes/${b.id}${rest}`,
    ]
    const { host } = new URL(server.url)
    for (const path of tricks)
      for (const suffix of ['', '/events/search']) {
        const request = head(`GET ${path}${suffix} HTTP/1.1`, `Host: ${host}`, `X-Session-API-Key: ${a.key}`)
        const { status, text } = await sendRaw(server.url, request)
        assert.ok([0, 307, 400, 403, 404, 422].includes(status), `${path}: ${text}`)
        assert.doesNotMatch(text, LEAK, path)
      }
  })

  test('nor for a socket', async () => {
    const paths = [
      `${own(a)}/..${own(b)}/sockets/events/${ofB}`,
      `${own(a)}/../${b.id}/sockets/events/${ofB}`,
      `${own(a)}/%2e%2e/${b.id}/sockets/events/${ofB}`,
      `${own(a)}/sockets/events/../events/${ofB}`,
      `/sandboxes/${b.id.toUpperCase()}/sockets/events/${ofB}`,
      `/sandboxes/${a.id}/sandboxes/${b.id}/sockets/events/${ofB}`,
    ]
    const { host } = new URL(server.url)
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==']
    for (const path of paths) {
      const lines = [`Host: ${host}`, 'Connection: Upgrade', ...upgrade, `X-Session-API-Key: ${a.key}`]
      const bytes = `${[`GET ${path}?resend_mode=all HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`
      const text = await firstWords(server.url, bytes)
      assert.doesNotMatch(text, LEAK, path)
    }
  })

  test('a redirect for a missing slash stays below the sandbox', async () => {
    const { status, headers } = await ask(server, 'GET', `${own(a)}/api/conversations/search/`, { key: a.key })
    assert.deepEqual([status, headers.location], [307, `${own(a)}/api/conversations/search`])
  })
})

describe('a sandbox that is gone', { skip: NO_WALLS }, () => {
  test('its key opens nothing any more, and its path leads nowhere', async () => {
    const box = await Box.start(server)
    const { id } = await box.client.startConversation({ body: anOrder() })
    using socket = new TestSocket(server.url, `${own(box)}/sockets/events/${id}`, { 'X-Session-API-Key': box.key })
    await socket.opened()
    await box.ok('delete')
    for (const prefix of ['', own(box), own(a)]) {
      const { status } = await ask(server, 'GET', `${prefix}/api/conversations/search`, { key: box.key })
      assert.equal(status, 401, prefix)
    }
    assert.equal((await ask(server, 'GET', `${own(box)}/api/conversations/search`, { key: KEY })).status, 404)
  })
})
