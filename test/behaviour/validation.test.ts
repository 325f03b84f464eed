import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { exchange, exchangeJson } from '../support/exchange.ts'
import { anOrder, TestServer } from '../support/server.ts'

let server: TestServer
let conversation: string
before(async () => {
  server = await TestServer.start()
  conversation = (await server.client.startConversation({ body: anOrder() })).id
})
after(() => server[Symbol.asyncDispose]())

interface Detail {
  type: string
  loc: (string | number)[]
  msg: string
  input?: unknown
}

/** What is wrong with a request, sorted by place. The shape is that of the interface specification. */
async function complaints(method: string, path: string, body?: unknown): Promise<Detail[]> {
  const headers = { 'X-Session-API-Key': server.key }
  const { status, text } =
    body === undefined
      ? await exchange(server.url, { method, path, headers })
      : await exchangeJson(server.url, { method, path, headers, body })
  assert.equal(status, 422, text)
  const answer = JSON.parse(text)
  assert.deepEqual(Object.keys(answer), ['detail'])
  assert.ok(Array.isArray(answer.detail) && answer.detail.length > 0, text)
  for (const { type, loc, msg } of answer.detail) {
    assert.equal(typeof type, 'string')
    assert.ok(typeof msg === 'string' && msg.length > 0)
    assert.ok(['body', 'query', 'path', 'header'].includes(loc[0]))
    assert.ok(loc.every((part: unknown) => typeof part === 'string' || Number.isInteger(part)))
  }
  return answer.detail.sort((a: Detail, b: Detail) => String(a.loc).localeCompare(String(b.loc)))
}

const short = (details: Detail[]) => details.map(({ type, loc }) => `${type} ${loc.join('.')}`)

describe('what is wrong with a body, by type', () => {
  const order = (more: object) => anOrder(more)
  const cases: [name: string, method: string, path: string, body: unknown, wanted: string[]][] = [
    ['missing', 'POST', '/api/conversations/ID/events/respond_to_confirmation', {}, ['missing body.accept']],
    ['missing', 'POST', '/api/conversations', { agent: anOrder().agent }, ['missing body.workspace']],
    [
      'bool_type',
      'POST',
      '/api/conversations/ID/events/respond_to_confirmation',
      { accept: 'true' },
      ['bool_type body.accept'],
    ],
    [
      'bool_type for 1',
      'POST',
      '/api/conversations/ID/events/respond_to_confirmation',
      { accept: 1 },
      ['bool_type body.accept'],
    ],
    [
      'bool_type for null',
      'POST',
      '/api/conversations/ID/events/respond_to_confirmation',
      { accept: null },
      ['bool_type body.accept'],
    ],
    [
      'string_type',
      'POST',
      '/api/conversations/ID/events/respond_to_confirmation',
      { accept: false, reason: 5 },
      ['string_type body.reason'],
    ],
    ['int_type', 'POST', '/api/settings', { max_iterations: 'many' }, ['int_type body.max_iterations']],
    ['int_type for true', 'POST', '/api/settings', { max_iterations: true }, ['int_type body.max_iterations']],
    ['int_from_float', 'POST', '/api/settings', { max_iterations: 1.5 }, ['int_from_float body.max_iterations']],
    ['float_type', 'POST', '/api/settings', { max_budget_per_task: 'much' }, ['float_type body.max_budget_per_task']],
    [
      'list_type',
      'POST',
      '/api/conversations/ID/events',
      { role: 'user', content: 'hello' },
      ['list_type body.content'],
    ],
    ['dict_type', 'POST', '/api/conversations', [], ['dict_type body']],
    ['dict_type within', 'POST', '/api/conversations', order({ workspace: '/w' }), ['dict_type body.workspace']],
    [
      'uuid_parsing',
      'POST',
      '/api/conversations',
      order({ conversation_id: 'xyz' }),
      ['uuid_parsing body.conversation_id'],
    ],
    ['enum', 'POST', '/api/conversations/ID/events', { role: 'boss', content: [] }, ['enum body.role']],
    [
      'literal_error',
      'POST',
      '/api/conversations',
      order({ workspace: { working_dir: '/w', kind: 'Other' } }),
      ['literal_error body.workspace.kind'],
    ],
    [
      'greater_than_equal',
      'POST',
      '/api/conversations',
      order({ max_iterations: 0 }),
      ['greater_than_equal body.max_iterations'],
    ],
    ['string_too_long', 'PATCH', '/api/conversations/ID', { title: 'x'.repeat(201) }, ['string_too_long body.title']],
    ['string_too_short', 'PATCH', '/api/conversations/ID', { title: '' }, ['string_too_short body.title']],
    [
      'string_pattern_mismatch',
      'PUT',
      '/api/settings/secrets',
      { name: '1', value: 'v' },
      ['string_pattern_mismatch body.name'],
    ],
    ['extra_forbidden', 'POST', '/api/settings/mcp/a', { url: 'http://x', extra: 1 }, ['extra_forbidden body.extra']],
    [
      'an index',
      'POST',
      '/api/conversations/ID/events',
      { role: 'user', content: [{ text: 'a' }, { text: 5 }] },
      ['string_type body.content.1.text'],
    ],
    [
      'an unknown tag',
      'POST',
      '/api/conversations',
      order({ agent: { kind: 'Alien', llm: {} } }),
      ['union_tag_invalid body.agent.kind'],
    ],
  ]
  for (const [name, method, path, body, wanted] of cases)
    test(`${name}: ${method} ${path}`, async () => {
      assert.deepEqual(short(await complaints(method, path.replace('ID', conversation), body)), wanted)
    })
})

describe('what is wrong elsewhere', () => {
  test('in the path', async () => {
    const [first, ...others] = await complaints('GET', '/api/conversations/xyz')
    assert.deepEqual(others, [])
    assert.deepEqual(first?.loc, ['path', 'conversation_id'])
    assert.equal(first?.type, 'uuid_parsing')
    assert.match(first?.msg ?? '', /^Input should be a valid UUID/)
    assert.equal(first?.input, 'xyz')
  })

  test('in the query', async () => {
    const search = '/api/conversations/search'
    assert.deepEqual(short(await complaints('GET', `${search}?limit=abc`)), ['int_parsing query.limit'])
    assert.deepEqual(short(await complaints('GET', `${search}?limit=`)), ['int_parsing query.limit'])
    assert.deepEqual(short(await complaints('GET', `${search}?limit=0`)), ['greater_than_equal query.limit'])
    assert.deepEqual(short(await complaints('GET', `${search}?limit=101`)), ['less_than_equal query.limit'])
    assert.deepEqual(short(await complaints('GET', `${search}?include_skills=maybe`)), [
      'bool_parsing query.include_skills',
    ])
    assert.deepEqual(short(await complaints('GET', `${search}?sort_order=UP`)), ['enum query.sort_order'])
    assert.deepEqual(short(await complaints('GET', `${search}?status=asleep`)), ['enum query.status'])
    assert.deepEqual(short(await complaints('GET', '/api/conversations')), ['missing query.ids'])
    assert.deepEqual(short(await complaints('GET', `/api/conversations?ids=${newId()}&ids=xyz`)), [
      'uuid_parsing query.ids.1',
    ])
    const events = `/api/conversations/${conversation}/events/search`
    assert.deepEqual(short(await complaints('GET', `${events}?timestamp__gte=soon`)), [
      'datetime_parsing query.timestamp__gte',
    ])
  })

  test('everything that is wrong is said at once', async () => {
    const body = { accept: 'yes', reason: 5 }
    assert.deepEqual(short(await complaints('POST', '/api/conversations/xyz/events/respond_to_confirmation', body)), [
      'bool_type body.accept',
      'string_type body.reason',
      'uuid_parsing path.conversation_id',
    ])
    const found = await complaints('POST', '/api/conversations?include_skills=maybe', { max_iterations: 0, tags: 5 })
    assert.deepEqual(short(found).toSorted(), [
      'bool_parsing query.include_skills',
      'dict_type body.tags',
      'greater_than_equal body.max_iterations',
      'missing body.workspace',
    ])
  })
})

describe('the input in a complaint', () => {
  test('is shown as it was, when it is short', async () => {
    const [wrong] = await complaints('POST', '/api/settings', { language: ['en', 5] })
    assert.deepEqual(wrong?.input, ['en', 5])
    const [long] = await complaints('POST', '/api/settings', { language: ['x'.repeat(5000)] })
    assert.ok(long && !('input' in long))
  })

  test('is never a secret, wherever it stands', async () => {
    const canary = 'canary-0123456789'
    const requests: [method: string, path: string, body: unknown][] = [
      ['POST', '/api/settings', { llm_api_key: [canary], search_api_key: { a: canary }, sandbox_api_key: [canary] }],
      [
        'POST',
        '/api/settings',
        { secrets_store: { custom_secrets: { A: [canary] }, provider_tokens: { github: [canary] } } },
      ],
      ['POST', '/api/settings', { secrets_store: { custom_secrets: { A: { secret: [canary], description: 5 } } } }],
      ['POST', '/api/settings', { mcp_config: { sse_servers: [{ url: 5, api_key: canary }] } }],
      ['POST', '/api/settings', { mcp_config: { stdio_servers: [{ name: 5, command: 'c', env: { A: canary } }] } }],
      ['PUT', '/api/settings/secrets', { name: 'A', value: [canary] }],
      ['PUT', '/api/settings/secrets', { name: 'A', value: { nested: canary } }],
      ['POST', '/api/settings/mcp/a', { url: 5, headers: { Authorization: canary } }],
      ['POST', '/api/settings/mcp/a', { url: 'http://x', headers: canary }],
      ['POST', '/api/settings/mcp/a', { url: 'http://x', auth: { strategy: 'bearer', value: [canary] } }],
      ['POST', '/api/settings/mcp/a', { url: 'http://x', auth: { strategy: 'nonsense', value: canary } }],
      ['POST', '/api/conversations', anOrder({ secrets: { A: [canary] } })],
      ['POST', '/api/conversations', anOrder({ secrets: { A: { kind: 'StaticSecret', value: [canary] } } })],
      ['POST', '/api/conversations', anOrder({ agent: { kind: 'Agent', llm: { model: 5, api_key: canary } } })],
      ['POST', '/api/conversations', anOrder({ agent: { kind: 'Agent', llm: [{ model: 'm', api_key: canary }] } })],
      [
        'POST',
        '/api/conversations',
        anOrder({ agent: [{ llm: { aws_secret_access_key: canary, extra_headers: { A: canary } } }] }),
      ],
      ['POST', '/api/auth/sign-in', { key: [canary], token: [canary] }],
    ]
    const leaks: unknown[] = []
    for (const [method, path, body] of requests)
      for (const detail of await complaints(method, path, body))
        if (JSON.stringify(detail).includes(canary)) leaks.push(detail)
    assert.deepEqual(leaks, [])
  })

  test('does not make a complaint long', async () => {
    const kind = 'x'.repeat(100_000)
    const details = await complaints('POST', '/api/conversations', anOrder({ agent: { kind, llm: {} } }))
    assert.ok(JSON.stringify(details).length < 5000)
  })
})
