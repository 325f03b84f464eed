import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fault } from '../../src/api/errors.ts'
import { routes } from '../../src/api/routes/index.ts'
import { HealthStatus, ServerInfo } from '../../src/api/server.ts'
import { Auth } from '../../src/http/auth.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { originPolicy } from '../../src/http/origin.ts'
import { HttpServer } from '../../src/http/server.ts'
import { makeLog } from '../../src/lib/log.ts'
import { GANTRY_VERSION, INTERFACE_VERSION } from '../../src/version.ts'
import { KEY, startIn } from '../support/access.ts'
import { exchange, exchangeJson } from '../support/exchange.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

let server: TestServer
before(async () => {
  server = await startIn('key')
})
after(() => server[Symbol.asyncDispose]())

const get = (path: string, headers: Record<string, string> = {}) => exchange(server.url, { path, headers })

describe('what anybody may ask', () => {
  test('/health and /alive say that it answers, /ready that it can work', async () => {
    for (const path of ['/health', '/alive']) {
      const { status, text } = await get(path)
      assert.equal(status, 200)
      assert.deepEqual(HealthStatus.parse(JSON.parse(text)), { status: 'ok' })
    }
    const { status, text } = await get('/ready')
    assert.equal(status, 200)
    assert.deepEqual(JSON.parse(text), { status: 'ready' })
  })

  test('/server_info tells versions and times, and nothing of the machine', async () => {
    const { text } = await get('/server_info')
    const info = ServerInfo.strict().parse(JSON.parse(text))
    assert.equal(info.title, 'Gantry')
    assert.equal(info.version, INTERFACE_VERSION)
    assert.equal(info.gantry_version, GANTRY_VERSION)
    assert.match(info.version, /^\d+\.\d+\.\d+$/)
    assert.ok(info.uptime >= 0 && info.idle_time >= 0 && info.idle_time <= info.uptime)
    assert.ok(!text.includes(server.data) && !text.includes(KEY))
  })

  test('/server_info names the tools that an order may name, as /api/tools/ does: each is taken', async () => {
    const { usable_tools } = await server.client.serverInfo()
    assert.ok(usable_tools.includes('terminal') && usable_tools.includes('file_editor'))
    assert.deepEqual(await server.client.listTools(), usable_tools)
    const agent = { ...anOrder().agent, tools: usable_tools.map(name => ({ name })) }
    const { id } = await server.client.startConversation({ body: anOrder({ agent }) })
    await server.client.deleteConversation({ params: { conversation_id: id } })
  })

  test('/ is the page for a browser and the server info for everybody else', async () => {
    const page = await get('/', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    assert.match(page.headers['content-type'] ?? '', /^text\/html/)
    assert.match(page.text, /^<!doctype html>/i)
    assert.match(String(page.headers['content-security-policy']), /default-src 'self'.*frame-ancestors 'none'/)
    for (const headers of [{}, { Accept: '*/*' }, { Accept: 'application/json' }] as Record<string, string>[]) {
      const { text, headers: answered } = await get('/', headers)
      assert.match(answered['content-type'] ?? '', /^application\/json/)
      assert.equal(ServerInfo.parse(JSON.parse(text)).title, 'Gantry')
    }
  })

  test('pages and their files come with a type, and are not guessed at', async () => {
    const types = {
      '/docs': /^text\/html/,
      '/redoc': /^text\/html/,
      '/favicon.ico': /^image\/svg/,
      '/web/main.js': /javascript/,
      '/web/page.css': /^text\/css/,
      '/openapi.json': /^application\/json/,
    }
    for (const [path, type] of Object.entries(types)) {
      const { status, headers } = await get(path)
      assert.equal(status, 200, path)
      assert.match(headers['content-type'] ?? '', type)
      assert.equal(headers['x-content-type-options'], 'nosniff')
    }
  })
})

describe('files of the page', () => {
  test('are compressed for who takes that, and not sent again to who has them', async () => {
    const plain = await get('/web/main.js')
    const packed = await get('/web/main.js', { 'Accept-Encoding': 'gzip, br' })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert.ok(Number(packed.headers['content-length']) < Number(plain.headers['content-length']) / 2)
    assert.equal((await get('/web/main.js', { 'If-None-Match': String(plain.headers.etag) })).status, 304)
    assert.equal((await get('/web/main.js', { 'If-None-Match': String(packed.headers.etag) })).status, 200)
    assert.equal((await get('/web/main.js.gz')).status, 404)
  })
})

describe('/metrics', () => {
  test('needs the key, and is Prometheus text', async () => {
    assert.equal((await get('/metrics')).status, 401)
    const { status, text, headers } = await get('/metrics', { 'X-Session-API-Key': KEY })
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
    for (const line of text.trimEnd().split('\n'))
      assert.match(line, /^(# (HELP|TYPE) \w+ .+|[a-z_]+(\{.*\})? (\d|\+Inf|NaN)\S*)$/)
    assert.match(text, /route="\/metrics",status="401"/)
  })

  test('needs it in local mode too, unless it is opened', async () => {
    await using local = await startIn('local')
    assert.equal((await exchange(local.url, { path: '/metrics' })).status, 401)
    await using open = await TestServer.start({ args: ['--open-metrics'], env: { SESSION_API_KEY: KEY } })
    assert.equal((await exchange(open.url, { path: '/metrics' })).status, 200)
    assert.equal((await exchange(open.url, { path: '/api/conversations/count' })).status, 401)
    const { text } = await exchange(open.url, { path: '/openapi.json' })
    assert.equal(JSON.parse(text).paths['/metrics'].get.security, undefined)
  })

  test('does not grow with what strangers ask for', async () => {
    for (let i = 0; i < 20; i++) await get(`/nowhere-${i}?x=${i}`)
    const { text } = await get('/metrics', { 'X-Session-API-Key': KEY })
    assert.doesNotMatch(text, /nowhere/)
    assert.match(text, /route="unmatched",status="404"/)
  })
})

describe('the log', () => {
  const requestsOf = ({ output }: TestServer) =>
    output
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line))
      .filter(({ message }) => message === 'request')

  test('has one line a request: method, route, status, time', async () => {
    await using own = await startIn('key')
    const { id } = await own.client.startConversation({ body: anOrder() })
    const asked: [method: string, path: string, route: string, status: number][] = [
      ['GET', '/health', '/health', 200],
      ['HEAD', '/health', '/health', 200],
      ['GET', '/nowhere', 'unmatched', 404],
      ['GET', '/api/conversations/count', '/api/conversations/count', 401],
      ['PUT', '/health', 'unmatched', 405],
      ['GET', `/api/conversations/${id}`, '/api/conversations/{conversation_id}', 401],
    ]
    for (const [method, path] of asked) await exchange(own.url, { method, path })
    await exchange(own.url, { path: '/health', headers: { Host: 'evil.example' } })
    await until('all were logged', () => requestsOf(own).length >= asked.length + 2)
    const lines = requestsOf(own)
    assert.deepEqual(
      lines.map(({ method, route, status }) => `${method} ${route} ${status}`),
      [
        'POST /api/conversations 201',
        ...asked.map(([method, , route, status]) => `${method} ${route} ${status}`),
        'GET unmatched 403',
      ],
    )
    for (const { ms, level, time } of lines) {
      assert.equal(level, 'info')
      assert.ok(typeof ms === 'number' && ms >= 0)
      assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    }
  })

  test('tells no key, no query and no content', async () => {
    await using own = await startIn('key')
    const headers = { 'X-Session-API-Key': KEY }
    const canary = 'canary-0123456789'
    await exchange(own.url, { path: `/api/conversations/search?page_id=${canary}&session_api_key=${KEY}`, headers })
    await exchange(own.url, { path: `/nowhere/${canary}?x=${canary}`, headers })
    await exchange(own.url, { path: `/api/conversations/${canary}`, headers })
    await exchange(own.url, {
      path: '/health',
      headers: { ...headers, Cookie: canary, Authorization: `Bearer ${canary}` },
    })
    await own.client.putSecret({ body: { name: 'A', value: canary } })
    await own.client.startConversation({ body: anOrder({ initial_message: aMessage(canary), secrets: { A: canary } }) })
    await exchangeJson(own.url, { method: 'POST', path: '/api/auth/sign-in', body: { key: canary } })
    await exchangeJson(own.url, { method: 'POST', path: '/api/settings', headers, body: { llm_api_key: [canary] } })
    await until('all were logged', () => requestsOf(own).length >= 8)
    assert.ok(!own.output.includes(canary))
    assert.ok(!own.output.includes(KEY))
  })

  test('is as quiet as it is told to be', async () => {
    await using own = await TestServer.start({ args: ['--log-level', 'error'] })
    for (let i = 0; i < 3; i++) await exchange(own.url, { path: '/health' })
    assert.equal(await own.stop(), 0)
    assert.deepEqual(requestsOf(own), [])
  })
})

describe('a fault of ours', () => {
  const wrong: Record<string, Error> = {
    'an exception': new TypeError('cannot read canary of undefined'),
    'a damaged record': fault('record_damaged', 'the event'),
  }
  for (const [name, error] of Object.entries(wrong))
    test(`${name} is a 500 with an id that stands in the log, and nothing of its cause`, async () => {
      const lines: string[] = []
      const http = new HttpServer({
        auth: new Auth([KEY], 'local'),
        origins: originPolicy([], []),
        log: makeLog('info', line => lines.push(line)),
        metrics: new Metrics(),
        hasSandbox: () => false,
        opened: Promise.resolve(),
        draining: () => false,
      })
      http.serve({ health: routes.health }, { health: () => Promise.reject(error) })
      const server = createServer((incoming, out) => http.handle(incoming, out))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      try {
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const { status, text } = await exchange(url, { path: '/health', headers: { Connection: 'close' } })
        assert.equal(status, 500)
        assert.doesNotMatch(text, /canary|TypeError|\.ts/)
        const { error_id } = JSON.parse(text)
        assert.match(error_id ?? '', /^[0-9a-f]{32}$/)
        const logged = lines.map(line => JSON.parse(line)).filter(line => line.error_id === error_id)
        assert.ok(logged.some(line => line.message === 'request' && line.status === 500))
        assert.ok(logged.some(line => String(line.error).includes(error.message)))
        assert.ok(logged.every(line => line.level === 'error'))
      } finally {
        server.close()
      }
    })
})
