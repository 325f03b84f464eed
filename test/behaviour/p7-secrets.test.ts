import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Canaries } from '../support/canary.ts'
import { call as calling, finish, ModelServer, say } from '../support/model-server.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'

const canaries = new Canaries()
/** Everything the server said to anybody. */
let heard = ''
let server: TestServer

before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'debug'] })
})
after(() => server[Symbol.asyncDispose]())

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'X-Session-API-Key': server.key, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  heard += `${JSON.stringify([...response.headers])}\n${text}\n`
  return { status: response.status, text, json: () => JSON.parse(text) }
}

const secret = (door: string) => canaries.make(door)

const anLlm = (where: string) => ({
  model: 'm',
  api_key: secret(`${where} api_key`),
  aws_access_key_id: secret(`${where} aws_access_key_id`),
  aws_secret_access_key: secret(`${where} aws_secret_access_key`),
  aws_session_token: secret(`${where} aws_session_token`),
  extra_headers: { 'X-Custom': secret(`${where} extra_headers`) },
})

const mcpServers = (where: string) => ({
  stdio: { command: 'run', env: { ANY: secret(`${where} mcp env`) } },
  headers: { url: 'https://a.example/mcp', headers: { ANY: secret(`${where} mcp headers`) } },
  bearer: { url: 'https://b.example/mcp', auth: { strategy: 'bearer', value: secret(`${where} mcp bearer`) } },
  basic: {
    url: 'https://c.example/mcp',
    auth: { strategy: 'basic', username: 'u', password: secret(`${where} mcp password`) },
  },
})

/** Its model is found where nobody listens. */
const anAgent = (where: string) => ({
  kind: 'Agent',
  llm: { ...anLlm(`${where} llm`), base_url: 'http://127.0.0.1:65535/v1', num_retries: 0 },
  condenser: { kind: 'LLMSummarizingCondenser', llm: anLlm(`${where} condenser`) },
  mcp_config: mcpServers(where),
  agent_context: {
    secrets: {
      ONE: secret(`${where} context secret`),
      TWO: { kind: 'StaticSecret', value: secret(`${where} context static`) },
    },
    skills: [{ name: 's', content: 'c', mcp_tools: mcpServers(`${where} skill`) }],
  },
})

const anAnalyzer = (door: string) => ({ kind: 'GraySwanAnalyzer', api_key: secret(door) })

describe('P7: what was entered as a secret is never readable', () => {
  test('through every door: settings, secrets, conversations, errors', async () => {
    const stored = [
      await call('POST', '/api/settings', {
        llm_model: 'm',
        llm_api_key: secret('flat llm_api_key'),
        search_api_key: secret('flat search_api_key'),
        sandbox_api_key: secret('flat sandbox_api_key'),
        secrets_store: {
          provider_tokens: { github: { token: secret('provider token'), host: 'github.com' } },
          custom_secrets: { FLAT: { secret: secret('flat custom secret'), description: 'd' } },
        },
        mcp_config: {
          sse_servers: [{ url: 'https://d.example/sse', api_key: secret('flat mcp sse') }],
          shttp_servers: [{ url: 'https://e.example/mcp', api_key: secret('flat mcp shttp') }],
          stdio_servers: [{ name: 'n', command: 'c', args: [], env: { ANY: secret('flat mcp env') } }],
        },
      }),
      await call('PATCH', '/api/settings', {
        agent_settings_diff: {
          llm: anLlm('diff llm'),
          mcp_config: mcpServers('diff'),
          verification: { critic_api_key: secret('diff critic_api_key') },
          agent_context: { secrets: { A: secret('diff context secret') } },
        },
      }),
      await call('POST', '/api/settings/mcp/added', mcpServers('added').headers),
      await call('PATCH', '/api/settings/mcp/added', { headers: { MORE: secret('patched mcp header') } }),
      await call('PUT', '/api/settings/secrets', { name: 'NAMED', value: secret('named secret') }),
      await call('POST', '/api/conversations', {
        ...anOrder({ agent: anAgent('agent') }),
        secrets: {
          BARE: secret('conversation bare secret'),
          STATIC: { kind: 'StaticSecret', value: secret('conversation static secret') },
          LOOKUP: {
            kind: 'LookupSecret',
            url: 'https://vault.example/s',
            headers: { Authorization: secret('conversation lookup header') },
          },
        },
        agent_definitions: [{ name: 'sub', mcp_config: mcpServers('sub-agent') }],
        initial_message: aMessage('hello'),
      }),
    ]
    assert.deepEqual(
      stored.map(({ status }) => status),
      [200, 200, 201, 200, 200, 201],
    )
    const { id } = stored.at(-1)!.json()
    const conversation = `/api/conversations/${id}`
    await server.atRest(id)
    const later = [
      await call('POST', `${conversation}/secrets`, {
        secrets: {
          BARE: secret('replaced bare secret'),
          LATER: { value: secret('later secret'), description: 'd' },
          LOOKED: {
            kind: 'LookupSecret',
            url: 'https://vault.example/s',
            headers: { Authorization: secret('later lookup header') },
          },
        },
      }),
      await call('POST', `${conversation}/switch_llm`, { llm: { ...anAgent('switched').llm } }),
      await call('POST', `${conversation}/ask_agent`, { question: 'What are your secrets?' }),
      await call('POST', `${conversation}/fork`, {}),
      await call('POST', '/api/profiles/stored', { llm: anLlm('profile') }),
      await call('POST', `${conversation}/switch_profile`, { profile_name: 'stored' }),
    ]
    assert.deepEqual(
      later.map(({ status }) => status),
      [200, 200, 502, 201, 201, 200],
    )

    const refused = [
      await call('POST', '/api/settings', { llm_api_key: { wrong: secret('misplaced object') } }),
      await call('POST', '/api/settings', { llm_api_key: [secret('misplaced list')] }),
      await call('POST', '/api/settings', `{"llm_api_key": "${secret('malformed JSON')}"`),
      await call('PUT', '/api/settings/secrets', { name: 'not a name', value: secret('bad name') }),
      await call('PATCH', '/api/settings', { agent_settings_diff: { llm: { api_key: { x: secret('bad diff') } } } }),
      await call('POST', '/api/settings/mcp/bad', { url: 1, headers: { A: secret('bad mcp headers') }, env: 1 }),
      await call(
        'POST',
        '/api/conversations',
        anOrder({ agent: { kind: 'Agent', llm: { api_key: [secret('bad agent')] } } }),
      ),
      await call('POST', '/api/conversations', anOrder({ secrets: { A: { value: [secret('bad secret')] } } })),
      await call(
        'POST',
        '/api/conversations',
        anOrder({ agent: { ...anAgent('refused'), critic: { kind: 'APIBasedCritic', api_key: secret('critic') } } }),
      ),
      await call('POST', '/api/conversations', anOrder({ security_analyzer: anAnalyzer('refused analyzer') })),
      await call('POST', `${conversation}/security_analyzer`, { security_analyzer: anAnalyzer('new analyzer') }),
      await call('POST', `${conversation}/secrets`, { secrets: { BAD: { value: [secret('bad later secret')] } } }),
      await call('POST', `${conversation}/secrets`, { secrets: secret('no secrets') }),
      await call('POST', `${conversation}/switch_llm`, { llm: { api_key: [secret('bad later llm')] } }),
    ]
    for (const { status, text } of refused) assert.equal(status, 422, text)

    const unauthorised = [
      await call('GET', '/api/settings', undefined, { 'X-Session-API-Key': secret('wrong key') }),
      await call('GET', '/api/settings', undefined, {
        'X-Session-API-Key': '',
        Authorization: `Bearer ${secret('wrong bearer')}`,
      }),
      await call('POST', '/api/auth/sign-in', { key: secret('sign-in key') }),
      await call('POST', '/api/auth/sign-in', { token: secret('sign-in token') }),
    ]
    assert.deepEqual(
      unauthorised.map(({ status }) => status),
      [401, 401, 401, 401],
    )
    await call('GET', `/api/conversations/count?session_api_key=${secret('key in a query')}`)

    const path = `/sockets/events/${id}`
    const turnedAway = new TestSocket(server.url, `${path}?session_api_key=${secret('socket query')}`)
    await assert.rejects(turnedAway.opened(), /403/)
    using socket = await new TestSocket(server.url, `${path}?resend_mode=all`).opened()
    await socket.frame('the run is over', frame => frame.kind === 'ConversationErrorEvent')
    socket.send({
      role: 'assistant',
      content: [{ type: 'text', text: 'not allowed' }],
      api_key: secret('socket frame'),
    })
    await socket.frame('an error', frame => frame.kind === 'ServerErrorEvent')
    heard += JSON.stringify(socket.frames)

    for (const read of [
      '/api/settings',
      '/api/settings/secrets',
      '/api/settings/agent-schema',
      `/api/conversations/${id}?include_skills=true`,
      '/api/conversations/search?include_skills=true',
      `/api/conversations?ids=${id}&include_skills=true`,
      `${conversation}/events/search`,
      `${conversation}/agent_final_response`,
      '/api/profiles',
      '/api/profiles/stored',
      '/openapi.json',
      '/metrics',
      '/server_info',
    ])
      assert.equal((await call('GET', read)).status, 200, read)

    assert.ok(canaries.size > 60, `${canaries.size} canaries went in`)
    assert.deepEqual(canaries.sightings(heard), [], 'in answers and frames')
    assert.deepEqual(canaries.sightings(server.output), [], 'in the log')
    assert.deepEqual(await canaries.sightingsIn(server.data), [], 'in the data folder')
  })

  test('through an agent that has them: its commands get those they name, and nobody reads them afterwards', async () => {
    const [given, context, added, unnamed] = ['given', 'context', 'added', 'unnamed'].map(door =>
      secret(`${door} to an agent`),
    ) as [string, string, string, string]
    const key = secret('key of a model that answers')
    const show = 'echo "$GIVEN $CONTEXT $ADDED"; printf %s "$GIVEN" | base64 -w0; echo; printf %s "$ADDED" | wc -c'
    await using model = await ModelServer.start([
      calling('terminal', { command: show }),
      calling('terminal', { command: 'env | grep -c canary-' }),
      finish(),
      say(`They are ${added} and ${context}`),
    ])
    heard = ''
    const start = await call('POST', '/api/conversations', {
      ...anOrder({ workspace: { working_dir: '/workspace/secrets' } }),
      agent: {
        kind: 'Agent',
        llm: model.llm({ api_key: key, stream: true }),
        tools: [{ name: 'terminal' }],
        agent_context: { secrets: { CONTEXT: context } },
      },
      secrets: { GIVEN: given, UNNAMED: unnamed },
    })
    const conversation = `/api/conversations/${start.json().id}`
    using socket = await new TestSocket(server.url, `/sockets/events/${start.json().id}?resend_mode=all`).opened()
    assert.equal((await call('POST', `${conversation}/secrets`, { secrets: { ADDED: added } })).status, 200)
    assert.equal((await call('POST', `${conversation}/events`, aMessage('Go', true))).status, 200)
    assert.equal((await server.atRest(start.json().id)).execution_status, 'finished')
    const asked = await call('POST', `${conversation}/ask_agent`, { question: 'What are they?' })
    assert.match(asked.json().response, /^They are .*hidden.* and .*hidden/)
    for (const more of ['?include_skills=true', '/events/search', '/agent_final_response'])
      assert.equal((await call('GET', conversation + more)).status, 200)
    await socket.frame('the end', ({ key, value }) => key === 'full_state' && value.execution_status === 'finished')
    heard += JSON.stringify(socket.frames)

    const shown = socket.frames
      .filter(({ kind }) => kind === 'ObservationEvent')
      .map(({ observation }) => observation.content[0].text)
    assert.match(
      shown[0],
      new RegExp(`^(<secret-hidden> ?){3}\\s+<secret-hidden>\\s+${added.length}\\b`),
      'the command had them',
    )
    assert.match(shown[1], /^0\b/, 'a command that names none has none')
    assert.ok(
      model.requests.every(({ headers }) => headers.authorization === `Bearer ${key}`),
      'the model had its key',
    )
    const told = JSON.stringify(model.requests.map(({ body }) => body))
    assert.match(told, /GIVEN/)
    assert.deepEqual(canaries.sightings(told), [], 'in what the model was told')
    assert.deepEqual(canaries.sightings(heard), [], 'in answers and frames')
    assert.deepEqual(canaries.sightings(server.output), [], 'in the log')
    assert.deepEqual(await canaries.sightingsIn(server.data), [], 'in the data folder')
  })

  test('the scan would notice: a secret that is asked for in plain is found, in plain', async () => {
    const value = secret('probe')
    await call('PUT', '/api/settings/secrets', { name: 'PROBE', value })
    heard = ''
    assert.equal((await call('GET', '/api/settings/secrets/PROBE')).text, value)
    assert.deepEqual(canaries.sightings(heard), ['probe (verbatim)'])
    for (const text of [Buffer.from(`x${value}y`).toString('base64'), Buffer.from(value).toString('hex')])
      assert.equal(canaries.sightings(text)[0]?.startsWith('probe'), true)
  })

  test('what is given out encrypted is opaque, and is taken back wherever a secret is taken', async () => {
    const value = secret('encrypted')
    await call('PATCH', '/api/settings', { agent_settings_diff: { llm: { api_key: value } } })
    const expose = (how: string) => call('GET', '/api/settings', undefined, { 'X-Expose-Secrets': how })
    const encrypted = await expose('encrypted')
    assert.deepEqual(canaries.sightings(encrypted.text), [])
    const token = encrypted.json().agent_settings.llm.api_key
    assert.match(token, /^gAAAAA/)
    await call('PATCH', '/api/settings', { agent_settings_diff: { llm: { api_key: 'other' } } })
    await call('PATCH', '/api/settings', { agent_settings_diff: { llm: { api_key: token } } })
    assert.equal((await expose('plaintext')).json().agent_settings.llm.api_key, value)
    const start = await call('POST', '/api/conversations', {
      workspace: { working_dir: '/w' },
      agent_settings: encrypted.json().agent_settings,
      secrets_encrypted: true,
    })
    assert.equal(start.status, 201, start.text)
    const forged = `${token.slice(0, -8)}AAAAAAA=`
    const refused = await call('POST', '/api/conversations', {
      ...anOrder({ agent: { kind: 'Agent', llm: { model: 'm', api_key: forged } } }),
      secrets_encrypted: true,
    })
    assert.equal(refused.status, 422)
    assert.equal((await expose('nonsense')).status, 400)
  })

  test('keys lie in files that only their owner can read, and the secret key is not the session key', async () => {
    for (const name of ['session-key', 'secret-key'])
      assert.equal((await stat(join(server.data, name))).mode & 0o777, 0o600)
    assert.equal((await stat(server.data)).mode & 0o077, 0)
  })
})
