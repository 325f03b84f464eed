import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { UserInfo } from '../../src/api/users.ts'
import { ask, Box, inState, NO_WALLS } from '../support/hands.ts'
import { TestServer } from '../support/server.ts'

const MASK = '**********'
const SECRETS = {
  llm: 'sk-llm-canary-0001',
  profile: 'sk-profile-canary-0002',
  search: 'tvly-canary-0003',
  remote: 'mcp-canary-0004',
  off: 'mcp-canary-0005',
  env: 'env-canary-0006',
}

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const me = (query = '', more: { key?: string; headers?: Record<string, string> } = {}) =>
  ask(server, 'GET', `/api/v1/users/me${query}`, more)
const EXPOSED = '?expose_secrets=true'

test('the user is there before anything is stored, without a name', async () => {
  const { status, body } = await me()
  assert.equal(status, 200)
  assert.deepEqual(UserInfo.parse(body), body)
  const { id, llm_model, llm_api_key, llm_base_url, mcp_config } = body
  assert.deepEqual([id, llm_model, llm_api_key, llm_base_url], [null, null, null, null])
  assert.deepEqual(mcp_config, { sse_servers: [], stdio_servers: [], shttp_servers: [] })
})

describe('what the user stored', () => {
  before(async () => {
    const { client } = server
    await client.storeSettings({
      body: {
        llm_model: 'openai/gpt-6-sol',
        llm_api_key: SECRETS.llm,
        llm_base_url: 'https://models.example/v1',
        search_api_key: SECRETS.search,
      },
    })
    const remote = (url: string, value: string | undefined, more: object = {}) => ({
      url,
      ...(value && { auth: { strategy: 'bearer' as const, value } }),
      ...more,
    })
    const servers: Record<string, object> = {
      off: remote('https://one.example/mcp', SECRETS.off, { enabled: false }),
      one: remote('https://one.example/mcp', SECRETS.remote),
      two: remote('https://two.example/sse', undefined, { transport: 'sse' }),
      three: { command: 'serve', args: ['-v'], env: { TOKEN: SECRETS.env } },
    }
    for (const [settings_key, body] of Object.entries(servers))
      await client.createMcpServer({ params: { settings_key }, body })
    await client.saveProfile({
      params: { name: 'fast' },
      body: { llm: { model: 'openai/gpt-6-luna', api_key: SECRETS.profile } },
    })
  })

  const canaries = (text: string) =>
    Object.entries(SECRETS).flatMap(([name, value]) => (text.includes(value) ? [name] : []))

  test('is shown to any caller, with secrets masked', async () => {
    const { body, text } = await me()
    assert.deepEqual(canaries(text), [])
    assert.deepEqual(UserInfo.parse(body), body)
    assert.deepEqual(
      [body.llm_model, body.llm_api_key, body.llm_base_url],
      ['openai/gpt-6-sol', MASK, 'https://models.example/v1'],
    )
    assert.equal(body.agent_settings.llm.api_key, MASK)
    assert.equal(body.llm_profiles.profiles.fast.api_key, MASK)
    assert.equal(body.mcp_config.shttp_servers[0].api_key, MASK)
    assert.deepEqual([body.search_api_key, body.search_api_key_set, body.llm_api_key_set], [null, true, true])
  })

  test('is told with its secrets to whoever has the key, and not kept on the way', async () => {
    const { status, body, headers } = await me(EXPOSED, { key: server.key })
    assert.equal(status, 200)
    assert.equal(headers['cache-control'], 'no-store')
    assert.deepEqual(UserInfo.parse(body), body)
    assert.deepEqual([body.llm_model, body.llm_api_key], ['openai/gpt-6-sol', SECRETS.llm])
    assert.equal(body.agent_settings.llm.api_key, SECRETS.llm)
    assert.equal(body.llm_profiles.profiles.fast.api_key, SECRETS.profile)
    assert.equal(body.search_api_key, SECRETS.search)
    assert.deepEqual(body.mcp_config, {
      sse_servers: [{ url: 'https://two.example/sse', api_key: null }],
      shttp_servers: [{ url: 'https://one.example/mcp', api_key: SECRETS.remote, timeout: null }],
      stdio_servers: [{ name: 'three', command: 'serve', args: ['-v'], env: { TOKEN: SECRETS.env } }],
    })
  })

  test('is not told with its secrets to one who merely calls from this machine, nor with a wrong key', async () => {
    assert.equal((await me()).status, 200)
    for (const how of [{}, { key: 'wrong' }, { headers: { Authorization: 'Bearer wrong' } }]) {
      const { status, text } = await me(EXPOSED, how)
      assert.equal(status, 401)
      assert.deepEqual(canaries(text), [])
    }
    assert.equal((await me('?expose_secrets=perhaps', { key: server.key })).status, 422)
  })

  test('is told with its secrets to the bearer of the key of a sandbox while that runs', {
    skip: NO_WALLS,
  }, async () => {
    const box = await Box.start(server)
    // As the Python client sends them.
    const both = { key: box.key, headers: { Authorization: `Bearer ${server.key}` } }
    for (const how of [{ key: box.key }, both])
      assert.equal((await me(EXPOSED, how)).body.agent_settings.llm.api_key, SECRETS.llm)
    assert.deepEqual(canaries((await me('', { key: box.key })).text), [])
    await box.ok('pause')
    await inState(server, box.id, 'PAUSED')
    for (const how of [{ key: box.key }, both]) {
      const { status, text } = await me(EXPOSED, how)
      assert.equal(status, 401)
      assert.deepEqual(canaries(text), [])
    }
    await box.ok('delete')
    assert.equal((await me(EXPOSED, { key: box.key })).status, 401)
  })
})
