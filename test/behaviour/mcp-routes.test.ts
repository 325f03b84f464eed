import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { McpProbes } from '../../src/agent/mcp/probes.ts'
import { MCPTestRequest } from '../../src/api/mcp-probes.ts'
import { appInProcess, type OwnApp } from '../support/app.ts'
import { ask, NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON } from '../support/inside.ts'
import { Authorizing } from '../support/mcp-authorization.ts'
import { Listener, streamable } from '../support/mcp-http.ts'
import { Guarded } from '../support/mcp-login.ts'
import { stdio } from '../support/mcp-stdio.ts'

let app: OwnApp
let key: string
before(async () => {
  app = await appInProcess()
  key = readFileSync(app.keyFile!, 'utf8')
})
after(() => app[Symbol.asyncDispose]())

const post = (path: string, body: unknown) => ask(app, 'POST', path, { key, body })
const tried = async (server: object, more: object = {}) => (await post('/api/mcp/test', { server, ...more })).body
const TOOLS = ['shout', 'grow', 'big', 'hang']

describe('trying an MCP server out over the API', () => {
  test('one that can be used: its tools, what one of them says, and no field that is null', async () => {
    await using listener = await Listener.start(streamable())
    const { url } = listener
    const settings = { url, transport: 'http', headers: null, auth: null, command: null, args: null, enabled: true }
    for (const server of [{ type: 'shttp', url }, { type: 'http', url, timeout: 9.00005 }, { url }, settings])
      assert.deepEqual(await tried(server), { ok: true, tools: TOOLS })
    const tool_call = { name: 'shout', arguments: { text: 'hey' } }
    const { tool_result } = await tried({ url }, { tool_call })
    assert.deepEqual(tool_result, { is_error: false, text: 'HEY' })
  })

  test('one that cannot is an answer with the kind of its failure', async () => {
    await using hanging = await Listener.start(() => undefined)
    await using closed = await Listener.start(() => undefined)
    await closed.down()
    const slow = await post('/api/mcp/test', { server: { url: hanging.url }, timeout: 0.10005, name: 'mine' })
    assert.equal(slow.status, 200)
    assert.deepEqual(Object.keys(slow.body).sort(), ['error', 'error_kind', 'ok'])
    assert.equal(slow.body.error_kind, 'timeout')
    assert.match(slow.body.error, /'mine'/)
    assert.equal((await tried({ url: closed.url })).error_kind, 'connection')
    assert.equal((await tried({ url: 'http://169.254.169.254/mcp' })).ok, false)
  })

  test('what is no server is a 422 that does not repeat a secret', async () => {
    for (const body of [
      {},
      { server: [] },
      { server: { type: 'carrier-pigeon', url: 'http://x' } },
      { server: { type: 'stdio', url: 'http://x' } },
      { server: { url: 'http://x' }, timeout: 0 },
      { server: { url: 'http://x' }, timeout: 121 },
      { server: { url: 'http://x', headers: { Authorization: 'Bearer hush-hush' } }, name: '' },
    ]) {
      const { status, text } = await post('/api/mcp/test', body)
      assert.equal(status, 422, JSON.stringify(body))
      assert.doesNotMatch(text, /hush-hush/)
    }
  })

  test('an encrypted secret, as the settings gave it out, is opened for the use', async () => {
    const heard: (string | undefined)[] = []
    await using listener = await Listener.start(streamable(headers => heard.push(headers['x-mine'] as string)))
    await post('/api/settings/mcp/mine', { url: listener.url, headers: { 'X-Mine': 'the value' } })
    const headers = { 'X-Expose-Secrets': 'encrypted' }
    const { body } = await ask(app, 'GET', '/api/settings', { key, headers })
    const stored = body.agent_settings.mcp_config.mine
    assert.notEqual(stored.headers['X-Mine'], 'the value')
    assert.equal((await tried(stored)).ok, true)
    assert.equal(heard.at(-1), 'the value')
  })

  test('tokens that were renewed are told, and only this server can read them', async () => {
    await using guarded = await Guarded.start()
    guarded.renewable.set('old-refresh', 'second')
    const state = {
      tokens: { access_token: 'spent', refresh_token: 'old-refresh' },
      client_info: { client_id: 'us' },
      token_expires_at: 1,
    }
    const server = { url: guarded.listener.url, auth: { strategy: 'oauth2', state } }
    const { ok, oauth_state } = await tried(server)
    assert.equal(ok, true)
    assert.match(oauth_state.tokens.access_token, /^gAAAAA/)
    assert.match(oauth_state.tokens.refresh_token, /^gAAAAA/)
    assert.equal(oauth_state.client_info.client_id, 'us')
    const again = await tried({ ...server, auth: { strategy: 'oauth2', state: oauth_state } })
    assert.equal(again.ok, true)
    assert.equal(guarded.renewals.length, 1)
  })

  test('a command runs in the sandbox of whoever asks', { skip: NO_WALLS || NO_PYTHON }, async () => {
    const { command, args } = stdio('good')
    const server = { type: 'stdio', command, args, cwd: '/tmp/only-there' }
    const tool_call = { name: 'env', arguments: {} }
    const { body: box } = await post('/api/v1/sandboxes', undefined)
    const inside = (path: string, body: object) =>
      ask(app, 'POST', `/sandboxes/${box.id}${path}`, { key: box.session_api_key, body })
    await inside('/api/bash/execute_bash_command', { command: 'mkdir /tmp/only-there' })
    const { body } = await inside('/api/mcp/test', { server, tool_call })
    assert.equal(body.ok, true, JSON.stringify(body))
    assert.match(body.tool_result.text, /\/tmp\/only-there$/)
    assert.equal((await tried(server)).ok, false)
  })
})

describe('logging in at an MCP server', () => {
  const order = (url: string, authentication?: object) => ({
    name: 'guarded',
    server: { type: 'http', url, auth: { strategy: 'oauth2', ...(authentication && { authentication }) } },
  })
  const statusOf = (id: string) => ask(app, 'GET', `/api/mcp/oauth/status/${id}`, { key })

  test('a browser of this machine comes back by itself; tokens are told for this server alone, and work', async () => {
    await using server = await Authorizing.start()
    const started = (await post('/api/mcp/oauth/start', order(server.listener.url))).body
    assert.deepEqual(Object.keys(started).sort(), ['authorization_url', 'job_id', 'ok'])
    const waiting = (await statusOf(started.job_id)).body
    assert.deepEqual([waiting.ok, waiting.status, waiting.callback_ready], [true, 'authorizing', true])
    assert.equal(waiting.authorization_url, started.authorization_url)
    const page = await fetch(await server.approve(started.authorization_url))
    assert.equal(page.status, 200)
    const done = (await statusOf(started.job_id)).body
    assert.deepEqual([done.ok, done.status, done.callback_ready, done.tools], [true, 'succeeded', false, TOOLS])
    assert.match(done.oauth_state.tokens.access_token, /^gAAAAA/)
    assert.match(done.oauth_state.tokens.refresh_token, /^gAAAAA/)
    assert.match(done.oauth_state.client_info.client_secret, /^gAAAAA/)
    const said = JSON.stringify(done)
    for (const token of [...server.tokens, 'the-refresh-token']) assert.ok(!said.includes(token))
    assert.ok(done.oauth_state.token_expires_at > Date.now() / 1_000)
    const auth = { strategy: 'oauth2', state: done.oauth_state }
    assert.deepEqual(await tried({ url: server.listener.url, auth }), { ok: true, tools: TOOLS })
    for (const line of app.lines) for (const token of server.tokens) assert.ok(!line.includes(token))
  })

  test('from another machine the address is handed over, once', async () => {
    await using server = await Authorizing.start()
    const wanted = { type: 'oauth', scopes: ['read', 'write'], client_name: 'My client' }
    const { job_id, authorization_url } = (
      await post('/api/mcp/oauth/start', {
        ...order(server.listener.url, wanted),
        tool_call: { name: 'shout', arguments: { text: 'a' } },
      })
    ).body
    assert.equal(new URL(authorization_url).searchParams.get('scope'), 'read write')
    assert.equal([...server.clients.values()][0]?.client_name, 'My client')
    const callback_url = await server.approve(authorization_url)
    const path = `/api/mcp/oauth/callback/${job_id}`
    const done = await post(path, { callback_url })
    assert.deepEqual([done.status, done.body.status], [200, 'succeeded'])
    assert.deepEqual(done.body.tool_result, { is_error: false, text: 'A' })
    assert.equal(server.redeemed[0]?.get('resource'), server.listener.url)
    assert.equal((await post(path, { callback_url })).status, 409)
    assert.equal(server.redeemed.length, 1)
  })

  test('an address of somebody else’s making is refused, and the login goes on', async () => {
    await using server = await Authorizing.start()
    const { job_id, authorization_url } = (await post('/api/mcp/oauth/start', order(server.listener.url))).body
    const right = new URL(await server.approve(authorization_url))
    const changed = (change: (url: URL) => void) => {
      const url = new URL(right)
      change(url)
      return url.href
    }
    const path = `/api/mcp/oauth/callback/${job_id}`
    const wrong = [
      'nonsense',
      changed(url => url.searchParams.set('state', 'guessed')),
      changed(url => url.searchParams.delete('state')),
      right.href.replace('127.0.0.1', 'evil.example'),
      right.href.replace('http:', 'https:'),
      right.href.replace('/callback', '/elsewhere'),
    ]
    for (const callback_url of wrong) assert.equal((await post(path, { callback_url })).status, 400, callback_url)
    for (const address of wrong.filter(one => one.startsWith('http://127.0.0.1')))
      assert.equal((await fetch(address)).status, 400, address)
    assert.equal((await post(path, {})).status, 422)
    assert.equal(server.redeemed.length, 0)
    assert.equal((await post(path, { callback_url: right.href })).body.status, 'succeeded')
  })

  test('a refusal by the person, a false code and a lost server are failures in words', async () => {
    await using server = await Authorizing.start()
    const after = async (change: (url: URL) => void) => {
      const { job_id, authorization_url } = (await post('/api/mcp/oauth/start', order(server.listener.url))).body
      const url = new URL(await server.approve(authorization_url))
      change(url)
      return (await post(`/api/mcp/oauth/callback/${job_id}`, { callback_url: url.href })).body
    }
    const refused = await after(url => url.searchParams.set('error', 'access_denied'))
    assert.deepEqual([refused.ok, refused.status], [false, 'failed'])
    assert.match(refused.error, /'guarded': the login was refused \(access_denied\)/)
    assert.equal((await after(url => url.searchParams.set('code', 'made-up'))).status, 'failed')
    assert.equal((await after(url => url.searchParams.set('iss', 'http://other.example'))).status, 'failed')
    await server.listener.down()
    const { ok, error_kind, authorization_url } = (await post('/api/mcp/oauth/start', order(server.listener.url))).body
    assert.deepEqual([ok, error_kind, authorization_url], [false, 'connection', undefined])
  })

  test('a server cannot have itself given the login of another', async () => {
    await using server = await Authorizing.start({ resource: 'https://bank.example/mcp' })
    const { ok, error } = (await post('/api/mcp/oauth/start', order(server.listener.url))).body
    assert.equal(ok, false)
    assert.match(error, /bank\.example/)
    assert.equal(server.clients.size, 0)
  })

  test('only what says that it wants a login is logged in at, and nobody’s login is to be found', async () => {
    const { status } = await post('/api/mcp/oauth/start', { server: { url: 'http://127.0.0.1:1/' } })
    assert.equal(status, 400)
    assert.equal((await post('/api/mcp/oauth/start', { server: { command: 'x' } })).status, 400)
    assert.equal((await statusOf('nothing')).status, 404)
    assert.equal((await post('/api/mcp/oauth/callback/nothing', { callback_url: 'x' })).status, 404)
  })

  test('logins are bounded in number and time, and what is over holds no port', async t => {
    await using server = await Authorizing.start()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const probes = new McpProbes({
      around: () => ({ sandbox: () => Promise.reject(new Error('none')), workingDir: '/', fetch }),
      open: one => one,
      hide: state => state,
    })
    const request = MCPTestRequest.parse(order(server.listener.url))
    const ids: string[] = []
    for (let i = 0; i < 33; i++) ids.push((await probes.startLogin(request, undefined)).job_id!)
    assert.throws(() => probes.loginStatus(ids[0]!), { code: 'mcp_login_not_found' })
    const kept = probes.loginStatus(ids[32]!)
    const back = await server.approve(kept.authorization_url!)
    t.mock.timers.tick(15 * 60_000)
    assert.throws(() => probes.loginStatus(ids[32]!), { code: 'mcp_login_not_found' })
    await assert.rejects(fetch(back))
    probes.close()
  })
})
