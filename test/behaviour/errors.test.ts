import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { LARGE_BODY } from '../../src/api/routes/shared.ts'
import { BODY_BYTES } from '../../src/http/limits.ts'
import { newId } from '../../src/lib/id.ts'
import { appInProcess } from '../support/app.ts'
import { type Answer, type Exchange, exchange, exchangeJson, head, sendRaw } from '../support/exchange.ts'
import { aMessage, anOrder, TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const ask = (request: Exchange) => exchange(server.url, request)
const detailOf = ({ text }: Answer) => JSON.parse(text).detail
const json = (body: unknown, path = '/api/conversations', method = 'POST') =>
  exchangeJson(server.url, { method, path, body, headers: { 'X-Session-API-Key': server.key } })

describe('a path or method that is not there', () => {
  test('an unknown route is 404 with the words clients know', async () => {
    for (const path of [
      '/nowhere',
      '/api',
      '/api/nowhere',
      '/openapiXjson',
      '/API/conversations',
      '/api//conversations',
    ]) {
      const answer = await ask({ path })
      assert.equal(answer.status, 404, path)
      assert.equal(detailOf(answer), 'Not Found')
      assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
    }
  })

  test('a known path with another method is 405, and says which there are', async () => {
    const allowed = async (method: string, path: string) => {
      const answer = await ask({ method, path })
      assert.equal(answer.status, 405, `${method} ${path}`)
      assert.equal(detailOf(answer), 'Method Not Allowed')
      return answer.headers.allow?.split(', ').sort().join()
    }
    assert.equal(await allowed('PUT', '/api/conversations'), 'GET,HEAD,POST')
    assert.equal(await allowed('DELETE', '/health'), 'GET,HEAD')
    assert.equal(await allowed('GET', `/api/conversations/${newId()}/run`), 'POST')
    assert.equal(await allowed('OPTIONS', '/api/auth/sign-in'), 'DELETE,POST')
    assert.equal((await ask({ method: 'HEAD', path: `/api/conversations/${newId()}/run` })).status, 405)
  })

  test('a slash too many is sent to where it belongs, with the query, keeping the method', async () => {
    const { status, headers } = await ask({ method: 'POST', path: '/api/conversations/?include_skills=true' })
    assert.equal(status, 307)
    assert.equal(headers.location, '/api/conversations?include_skills=true')
    assert.equal((await ask({ path: '/health/' })).headers.location, '/health')
    assert.equal((await ask({ method: 'PUT', path: '/health/' })).status, 404)
    const followed = await fetch(`${server.url}/api/conversations/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(anOrder()),
    })
    assert.equal(followed.status, 201)
  })

  test('a redirect never leads to another host', async () => {
    for (const path of ['//evil.example/', '///evil.example/', '/\\evil.example/', '//evil.example/health/']) {
      const { status, text } = await sendRaw(
        server.url,
        head(`GET ${path} HTTP/1.1`, `Host: ${new URL(server.url).host}`),
      )
      assert.equal(status, 404, path)
      assert.doesNotMatch(text, /^location:/im)
    }
  })

  test('HEAD is GET without the body', async () => {
    for (const path of [
      '/',
      '/health',
      '/server_info',
      '/openapi.json',
      '/docs',
      '/web/main.js',
      '/api/conversations/count',
    ]) {
      const [got, asked] = [await ask({ path }), await ask({ method: 'HEAD', path })]
      assert.equal(asked.status, got.status)
      assert.equal(asked.text, '')
      if (path !== '/' && path !== '/server_info')
        assert.equal(asked.headers['content-length'], String(Buffer.byteLength(got.text)), path)
      assert.equal(asked.headers['content-type'], got.headers['content-type'])
    }
    const { id } = await server.client.startConversation({ body: anOrder() })
    assert.equal((await ask({ method: 'HEAD', path: `/api/conversations/${id}/events/stream` })).status, 200)
  })
})

describe('a body', () => {
  const headOf = (path: string, ...headers: string[]) =>
    head(
      `POST ${path} HTTP/1.1`,
      `Host: ${new URL(server.url).host}`,
      `X-Session-API-Key: ${server.key}`,
      'Content-Type: application/json',
      ...headers,
    )

  test('that says it is too large is 413 before it is sent', async () => {
    for (const [path, limit] of [
      ['/api/settings', BODY_BYTES],
      ['/api/conversations', LARGE_BODY],
    ] as const) {
      const { status, text } = await sendRaw(server.url, headOf(path, `Content-Length: ${limit + 1}`))
      assert.equal(status, 413)
      assert.match(text, new RegExp(`larger than ${limit} bytes`))
    }
  })

  test('that turns out too large is 413, and the sender gets to read it', async () => {
    const sent = request(`${server.url}/api/settings`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Session-API-Key': server.key },
    })
    const answered = once(sent, 'response')
    for (let size = 0; size < 2 * BODY_BYTES; size += 65_536) sent.write(' '.repeat(65_536))
    const [response] = await answered
    assert.equal(response.statusCode, 413)
    assert.equal(JSON.parse(await text(response)).code, 'body_too_large')
    sent.destroy()
  })

  test('of exactly the limit is read', async () => {
    const body = JSON.stringify({ language: '' }).padEnd(BODY_BYTES)
    assert.equal((await json(body, '/api/settings')).status, 200)
    assert.equal((await json(`${body} `, '/api/settings')).status, 413)
  })

  test('of 31 MB starts a conversation, and the message in it is whole', async () => {
    const message = 'x'.repeat(31 * 1024 * 1024)
    const answer = await json(anOrder({ initial_message: aMessage(message) }))
    assert.equal(answer.status, 201)
    const { id } = JSON.parse(answer.text)
    const { items } = await server.client.searchEvents({
      params: { conversation_id: id },
      query: { kind: 'MessageEvent' },
    })
    assert.ok(items[0]?.kind === 'MessageEvent')
    const [content] = items[0].llm_message.content
    assert.ok(content && 'text' in content && content.text === message)
    await server.client.deleteConversation({ params: { conversation_id: id } })
  })

  test('of another type is 415; JSON goes by several names', async () => {
    const send = (type: string | undefined) =>
      ask({
        method: 'POST',
        path: '/api/conversations',
        body: JSON.stringify(anOrder()),
        headers: type === undefined ? {} : { 'Content-Type': type },
      })
    for (const type of [
      undefined,
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'text/json',
      'application/jsonx',
    ]) {
      const answer = await send(type)
      assert.equal(answer.status, 415, String(type))
      assert.match(detailOf(answer), /application\/json/)
    }
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/merge-patch+json',
    ])
      assert.equal((await send(type)).status, 201, type)
  })

  test('that is empty needs no type where none is needed, and is a missing one elsewhere', async () => {
    const types: Record<string, string>[] = [
      {},
      { 'Content-Type': 'application/json' },
      { 'Content-Type': 'text/plain' },
    ]
    for (const headers of types) {
      const { id } = await server.client.startConversation({ body: anOrder() })
      assert.equal((await ask({ method: 'POST', path: `/api/conversations/${id}/run`, headers })).status, 200)
      const answer = await ask({ method: 'POST', path: '/api/conversations', headers })
      assert.equal(answer.status, 422)
      assert.deepEqual(detailOf(answer), [{ type: 'missing', loc: ['body'], msg: 'Field required' }])
    }
  })

  test('that breaks off is no fault of ours', async () => {
    const { status } = await sendRaw(server.url, `${headOf('/api/conversations', 'Transfer-Encoding: chunked')}zzz\r\n`)
    assert.equal(status, 400)
    assert.doesNotMatch(server.output, /"message":"fault"/)
  })

  test('that is no JSON is 422 with the place of the fault', async () => {
    const cases: [body: string, offset: number][] = [
      ['{a}', 1],
      ['{"a":1}}', 7],
      ['{"a" 1}', 5],
      ['[1 2]', 3],
      ['x', 0],
    ]
    for (const [body, offset] of cases) {
      const answer = await json(body)
      assert.equal(answer.status, 422)
      const [{ type, loc }] = detailOf(answer)
      assert.deepEqual({ type, loc }, { type: 'json_invalid', loc: ['body', offset] }, body)
    }
    for (const body of ['{"a": tru}', '[1,]', '{"a":', '"', "{'a': 1}", '{"a": NaN}', '\ufeff\ufeff{}', '{"a": 01}']) {
      const answer = await json(body)
      assert.equal(answer.status, 422)
      const [{ type, loc }] = detailOf(answer)
      assert.equal(type, 'json_invalid', body)
      assert.equal(loc[0], 'body')
      assert.ok(Number.isInteger(loc[1]) && loc[1] >= 0 && loc[1] <= body.length, body)
    }
  })

  test('that is no UTF-8 is 422', async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"language":"'), Buffer.from(bytes), Buffer.from('"}')])
      const answer = await ask({
        method: 'POST',
        path: '/api/settings',
        body,
        headers: { 'Content-Type': 'application/json', 'X-Session-API-Key': server.key },
      })
      assert.equal(answer.status, 422)
      assert.equal(detailOf(answer)[0].type, 'json_invalid')
    }
  })

  test('with __proto__ in it pollutes nothing', async () => {
    await using app = await appInProcess([], { SESSION_API_KEY: 'key' })
    const proto = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}'
    const order = JSON.stringify(anOrder()).slice(1)
    for (const [method, path, body] of [
      ['POST', '/api/conversations', `{${proto},"tags":{${proto}},"agent":{${proto}}}`],
      ['POST', '/api/conversations', `{${proto},"secrets":{"__proto__":"x"},${order}`],
      ['POST', '/api/settings', `{${proto},"secrets_store":{"custom_secrets":{"__proto__":"x"}}}`],
      ['PATCH', '/api/settings', `{${proto},"agent_settings_diff":{${proto},"llm":{${proto}}}}`],
      ['PATCH', '/api/settings', `{"conversation_settings_diff":{${proto}},"misc_settings_diff":{${proto}}}`],
      ['PATCH', '/api/settings', `{"agent_settings_diff":{"mcp_config":{"__proto__":{"url":"http://x"}}}}`],
      ['POST', '/api/settings/mcp/__proto__', '{"url":"http://x"}'],
      ['PUT', '/api/settings/secrets', '{"name":"__proto__","value":"x"}'],
      ['GET', '/api/conversations/search?__proto__=1&constructor=1', ''],
    ] as const) {
      const headers = { 'X-Session-API-Key': 'key', 'Content-Type': 'application/json' }
      const { status } = await exchange(app.url, { method, path, headers, body })
      assert.ok(status < 500, `${method} ${path}: ${status}`)
      assert.ok(!('polluted' in {}), `${method} ${path} ${body}`)
    }
  })

  const levels = 100_000
  const deepList = '['.repeat(levels) + ']'.repeat(levels)
  const deepObject = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const order = (llm: string, agent = '') =>
    `{"agent":{"kind":"Agent"${agent},"llm":{"model":"m"${llm}}},"workspace":{"working_dir":"/w"}}`
  for (const [name, path, method, body] of [
    ['an order', '/api/conversations', 'POST', deepList],
    ['an order, as object', '/api/conversations', 'POST', deepObject],
    ['tool parameters', '/api/conversations', 'POST', order('', `,"tools":[{"name":"t","params":${deepObject}}]`)],
    ['model options', '/api/conversations', 'POST', order(`,"litellm_extra_body":${deepObject}`)],
    ['settings', '/api/settings', 'POST', `{"mcp_config":${deepObject}}`],
    ['a change of settings', '/api/settings', 'PATCH', `{"agent_settings_diff":${deepObject}}`],
    ['a change of other settings', '/api/settings', 'PATCH', `{"misc_settings_diff":{"a":${deepList}}}`],
    ['an MCP server', '/api/settings/mcp/deep', 'POST', `{"url":"http://x","auth":${deepObject}}`],
    ['a secret', '/api/settings/secrets', 'PUT', `{"name":"A","value":${deepList}}`],
  ] as const)
    test(`nested ${levels} levels deep is 422: ${name}`, async () => {
      const { status } = await json(body, path, method)
      for (const path of ['/api/conversations/search', '/api/settings'])
        assert.equal((await ask({ path })).status, 200, `${path} can still be read`)
      assert.equal(status, 422)
    })
})
