import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RouteSpec } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { KEY, MODES, type Mode, pathOf, startIn } from '../support/access.ts'
import { exchange, head, inParallel, sendRaw } from '../support/exchange.ts'
import { Random } from '../support/random.ts'
import { sampled } from '../support/sampled.ts'
import { aMessage, anOrder, DEEP, TestServer } from '../support/server.ts'

const servers = {} as Record<Mode, TestServer>
before(async () => {
  ;[servers.local, servers.key] = await Promise.all([startIn('local'), startIn('key')])
})
after(() => Promise.all(Object.values(servers).map(server => server[Symbol.asyncDispose]())))

const hostOf = ({ url }: TestServer) => new URL(url).host

/** Ways to write a path or a Host so that two readers of a request might disagree on what was asked. */
const tricks: Record<string, (path: string, host: string) => { target: string; headers: string[] }> = {}
const path = (name: string, write: (path: string, host: string) => string) => {
  tricks[name] = (path, host) => ({ target: write(path, host), headers: [`Host: ${host}`] })
}
const headers = (name: string, write: (host: string) => string[]) => {
  tricks[name] = (path, host) => ({ target: path, headers: write(host) })
}
path('as it is', path => path)
path('two slashes', path => `/${path}`)
path('two slashes within', path => path.replace(/(?<=.)\//, '//'))
path('dots', path => `/x/..${path}`)
path('dots after a free route', path => `/health/..${path}`)
path('encoded dots', path => `/health/%2e%2e${path}`)
path('encoded slash', path => `/health%2f..${path}`)
path('one dot', path => `/.${path}`)
path('semicolon', path => `${path};x`)
path('semicolon and dots', path => `/health/..;${path}`)
path('upper case', path => path.toUpperCase())
path('encoded letter', path => path.replace('/a', '/%61').replace('/m', '/%6d'))
path('trailing slash', path => `${path}/`)
path('trailing dot', path => `${path}/.`)
path('trailing encoded blank', path => `${path}%20`)
path('trailing NUL', path => `${path}%00`)
path('fragment', path => `/health#/..${path}`)
path('query with a path', path => `${path}?/health`)
path('backslash', path => path.replaceAll('/', '\\'))
path('absolute', (path, host) => `http://${host}${path}`)
path('absolute, elsewhere', path => `http://evil.example${path}`)
path('absolute, odd', (path, host) => `HTTP://x@${host.toUpperCase()}:80${path}`)
path('absolute, https', (path, host) => `https://${host}${path}`)
headers('Host with a query', () => ['Host: foo?'])
headers('Host with a free path', host => [`Host: ${host}/health?`])
headers('Host with a fragment', host => [`Host: ${host}#`])
headers('Host with a blank', () => ['Host: a b'])
headers('Host with a user', host => [`Host: x@${host}`])
headers('Host with a bad port', () => ['Host: 127.0.0.1:99999999'])
headers('empty Host', () => ['Host:'])
headers('no Host', () => [])
headers('two Hosts', host => [`Host: ${host}`, 'Host: evil.example'])
headers('two Hosts, ours last', host => ['Host: evil.example', `Host: ${host}`])
headers('forwarded', host => [
  `Host: ${host}`,
  'X-Forwarded-Host: localhost',
  'X-Forwarded-For: 127.0.0.1',
  'Forwarded: for=127.0.0.1;host=localhost',
])
headers('rewritten', host => [`Host: ${host}`, 'X-Original-URL: /health', 'X-Rewrite-URL: /health'])
headers('another method', host => [`Host: ${host}`, 'X-HTTP-Method-Override: OPTIONS', 'X-Method-Override: GET'])

/** Refused, or nothing there. Anything else, a 422 too, means that somebody came through. */
const SHUT = [307, 400, 401, 403, 404, 405]

describe('P6: no way of writing a request gets past the key', () => {
  const random = new Random()
  for (const [trick, write] of Object.entries(tricks))
    test(trick, async () => {
      const guarded = MODES.flatMap(mode =>
        Object.entries<RouteSpec>(routes)
          .filter(([, { access }]) => access === 'key' || (mode === 'key' && access !== 'free'))
          .map(([name, spec]) => ({ mode, name, spec })),
      )
      assert.ok(guarded.length > 20)
      const tried = guarded.filter(() => DEEP || random.int(6) === 0)
      const found = await inParallel(tried, async ({ mode, name, spec }) => {
        const { target, headers } = write(pathOf(spec), hostOf(servers[mode]))
        const { status } = await sendRaw(
          servers[mode].url,
          head(`${spec.method} ${target} HTTP/1.1`, ...headers, 'Content-Length: 0'),
        )
        return SHUT.includes(status) ? [] : [`${mode} mode, ${name}: ${status}`]
      })
      assert.deepEqual(found.flat(), [])
    })

  test('a Host that is no host is 400, key or not', async () => {
    for (const mode of MODES)
      for (const bad of ['foo?', 'a b', '', 'x@127.0.0.1', '127.0.0.1/health', '127.0.0.1:x', '[::1', '127.0.0.1#'])
        for (const target of ['/health', '/api/conversations/count']) {
          const lines = [`Host: ${bad}`, `X-Session-API-Key: ${servers[mode].key}`]
          assert.equal((await sendRaw(servers[mode].url, head(`GET ${target} HTTP/1.1`, ...lines))).status, 400, bad)
        }
  })

  test('a request without Host is 400, whatever its version', async () => {
    for (const version of ['1.0', '1.1'])
      assert.equal((await sendRaw(servers.local.url, head(`GET /health HTTP/${version}`))).status, 400, version)
  })

  test('addresses, localhost and what --allow-host names are served; other names are not', async () => {
    await using server = await TestServer.start({ args: ['--allow-host', 'Gantry.Example'] })
    const status = async (Host: string) => (await exchange(server.url, { path: '/health', headers: { Host } })).status
    for (const served of ['127.0.0.1', 'localhost:1', 'LOCALHOST', '[::1]:8000', '10.1.2.3', 'gantry.example:8443'])
      assert.equal(await status(served), 200, served)
    for (const other of [
      'evil.example',
      'x.gantry.example',
      'gantry.example.evil',
      'localhost.evil',
      '127.0.0.1.nip.io',
    ])
      assert.equal(await status(other), 403, other)
  })

  test('files outside the page are not served', async () => {
    for (const file of [
      '..%2fgantry.js',
      '%2e%2e%2fgantry.js',
      '..%5cgantry.js',
      '%2fetc%2fpasswd',
      '.',
      '..',
      'x.js%00.html',
    ])
      assert.equal((await exchange(servers.local.url, { path: `/web/${file}` })).status, 404, file)
  })
})

describe('P6: keys and addresses', () => {
  test('each of several keys opens, and none but those', async () => {
    const env = { OH_SESSION_API_KEYS_0: 'first-key-0123456789', OH_SESSION_API_KEYS_1: 'second-key-0123456789' }
    await using server = await TestServer.start({ env })
    const status = async (key: string) =>
      (await exchange(server.url, { path: '/api/settings/secrets', headers: { 'X-Session-API-Key': key } })).status
    assert.equal(await status(env.OH_SESSION_API_KEYS_0), 200)
    assert.equal(await status(env.OH_SESSION_API_KEYS_1), 200)
    for (const wrong of ['', 'first-key', 'first-key-0123456789second-key-0123456789', 'third-key-0123456789'])
      assert.equal(await status(wrong), 401, wrong)
  })

  test('SESSION_API_KEY stands beside the numbered keys', async () => {
    await using server = await TestServer.start({
      env: { SESSION_API_KEY: KEY, OH_SESSION_API_KEYS_0: 'numbered-key' },
    })
    for (const key of [KEY, 'numbered-key'])
      assert.equal(
        (await exchange(server.url, { path: '/api/conversations/count', headers: { Authorization: `Bearer ${key}` } }))
          .status,
        200,
      )
    assert.equal((await exchange(server.url, { path: '/api/conversations/count' })).status, 401)
  })

  const some = sampled(2)
  for (const host of ['0.0.0.0', '::'])
    some(`bound to ${host} everybody needs the key, callers of this machine too`, async t => {
      const server = await TestServer.start({ args: ['--host', host] }).catch((error: Error) => error)
      if (server instanceof Error) return t.skip(`cannot listen on ${host}: ${server.message}`)
      await using _ = server
      const count = (headers: Record<string, string>) =>
        exchange(server.url, { path: '/api/conversations/count', headers })
      assert.equal((await count({})).status, 401)
      assert.equal((await count({ 'X-Session-API-Key': server.key })).status, 200)
      assert.equal((await exchange(server.url, { path: '/health' })).status, 200)
    })

  for (const host of ['localhost', '127.0.0.1', '127.9.8.7'])
    some(`bound to ${host} a caller of this machine may leave it out`, async () => {
      await using server = await TestServer.start({ args: ['--host', host] })
      assert.equal((await exchange(server.url, { path: '/api/conversations/count' })).status, 200)
      assert.equal((await exchange(server.url, { path: '/api/settings/secrets' })).status, 401)
    })

  test('nothing changes by GET', async () => {
    const server = servers.local
    const { client, url, key } = server
    const { id } = await client.startConversation({ body: anOrder({ initial_message: aMessage('hello') }) })
    await client.putSecret({ body: { name: 'nothing', value: 'secret' } })
    await server.atRest(id)
    const state = async () => JSON.stringify([await client.searchConversations(), await client.listSecrets()])
    const before = await state()
    for (const spec of Object.values<RouteSpec>(routes)) {
      if (spec.method !== 'GET' || spec.path.endsWith('/stream')) continue
      const path = spec.path.replace('{conversation_id}', id).replace(/\{\w+\}/, 'nothing')
      const { status } = await exchange(url, { path, headers: { 'X-Session-API-Key': key } })
      const isLacking = status === 503 && spec.errors?.some(code => code.endsWith('_unavailable'))
      assert.ok(status < 500 || isLacking, `${path}: ${status}`)
    }
    assert.equal(await state(), before)
  })

  test('a key from outside is not written to the data folder', async () => {
    await using server = await startIn('key')
    await server.client.startConversation({ body: anOrder() })
    assert.equal(await server.stop(), 0)
    const entries = await readdir(server.data, { recursive: true, withFileTypes: true })
    const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
    assert.ok(files.includes(join(server.data, 'gantry.db')))
    for (const file of files) assert.ok(!(await readFile(file)).includes(KEY), file)
  })
})
