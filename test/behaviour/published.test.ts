import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { compare } from '../support/json-schema.ts'
import { judge, judgeFrame } from '../support/published.ts'

// What watches all the other tests: it must notice.

const ROOT = join(import.meta.dirname, '../..')
const CONVERSATION = '00000000-0000-4000-8000-000000000001'
const FRAME = { id: 'a', timestamp: '2026-01-01T00:00:00', source: 'user', kind: 'PauseEvent' }

/** Not one of ours: it only looks like it, and answers whatever the address tells it to. */
const server = createServer((incoming, out) => {
  const { searchParams } = new URL(incoming.url!, 'http://localhost')
  const body = searchParams.get('answer') ?? ''
  out.writeHead(Number(searchParams.get('status') ?? 200), {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...(!searchParams.has('stranger') && { 'X-Request-Id': 'a' }),
  })
  out.end(body)
})
before(async () => {
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, { url }) => {
    socket.send(new URL(url!, 'http://localhost').searchParams.get('answer')!)
    socket.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
after(() => server.close())

const WAYS = {
  fetch: (url: string) => `console.log(await (await fetch(${JSON.stringify(url)})).text())`,
  exchange: (url: string) => `
    const { exchange } = await import('./test/support/exchange.ts')
    const { origin, pathname, search } = new URL(${JSON.stringify(url)})
    console.log((await exchange(origin, { path: pathname + search })).text)`,
  socket: (url: string) => `
    const { WebSocket } = await import('ws')
    const socket = new WebSocket(${JSON.stringify(url.replace('http', 'ws'))})
    socket.on('message', data => console.log(String(data)))`,
}

/** A test file in miniature: one question to that server. */
function file(
  way: keyof typeof WAYS,
  path: string,
  answer: unknown,
  query: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}${path}?${new URLSearchParams({ ...query, answer: JSON.stringify(answer) })}`
  const words = ['--import=./test/support/validate.ts', '--input-type=module', '-e', WAYS[way](url)]
  return new Promise(resolve =>
    execFile(process.execPath, words, { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    ),
  )
}

describe('a test file whose server breaks its word', () => {
  for (const way of ['fetch', 'exchange'] as const)
    test(`fails when that came by ${way}, and is told where, but not what`, async () => {
      const answer = { items: [{ id: 'hunter2' }], next_page_id: null }
      const { code, stdout, stderr } = await file(way, '/api/conversations/search', answer)
      assert.equal(code, 1)
      assert.equal(stdout.trim(), JSON.stringify(answer))
      assert.match(stderr, /GET \/api\/conversations\/search 200: \.items\[\]\.\w+ is missing/)
      assert.doesNotMatch(stderr, /hunter2/)
    })

  test('fails for a frame with a key more', async () => {
    const { code, stderr } = await file('socket', `/sockets/events/${CONVERSATION}`, { ...FRAME, mood: 'hunter2' })
    assert.equal(code, 1)
    assert.match(stderr, /PauseEvent: \.mood is not allowed/)
    assert.doesNotMatch(stderr, /hunter2/)
  })

  test('does not fail for what others answer', async () => {
    const { code, stderr } = await file('fetch', '/api/conversations/search', { any: 1 }, { stranger: 'yes' })
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('is told what was answered without being declared, and does not fail for it', async () => {
    const { code, stderr } = await file('fetch', '/api/conversations/search', {
      items: [],
      next_page_id: null,
      more: 1,
    })
    assert.equal(code, 0)
    assert.match(stderr, /not declared:\n {2}GET \/api\/conversations\/search 200: \.more\n/)
  })
})

describe('what is published', () => {
  test('of errors: each has a detail, on any route and on none', () => {
    for (const path of ['/api/conversations/count', '/nowhere'])
      for (const status of [404, 500, 503]) {
        const issues = (body: object) =>
          judge({ method: 'GET', path, status, text: JSON.stringify(body) }).findings().issues
        assert.deepEqual(issues({ detail: 'No', code: 'x' }), [])
        assert.deepEqual(issues({ error: 'No' }), ['.detail is missing'])
      }
  })

  test('of JSON: it is JSON', () => {
    const { issues } = judge({ method: 'GET', path: '/health', status: 200, text: '{"secret' }).findings()
    assert.deepEqual(issues, ['the whole should be object and is undefined'])
  })

  test('of statuses: an answer that is no error has one that its route declares', () => {
    const { issues } = judge({ method: 'GET', path: '/api/conversations/count', status: 202, text: '1' }).findings()
    assert.deepEqual(issues, ['the status is not declared'])
  })

  test('of frames: the same in a sandbox, and nothing of the sockets of others', () => {
    const path = `/sockets/events/${CONVERSATION}`
    for (const at of [path, `/sandboxes/abc${path}`]) {
      assert.deepEqual(judgeFrame(at, JSON.stringify(FRAME))?.findings(), { issues: [], undeclared: [] })
      assert.equal(judgeFrame(at, JSON.stringify({ ...FRAME, more: 1 }))?.findings().issues.length, 1)
    }
    const message = { ...FRAME, kind: 'MessageEvent', llm_message: { role: 'user', content: [], mood: 1 } }
    const deep = judgeFrame(path, JSON.stringify({ ...message, activated_skills: [], extended_content: [] }))
    assert.deepEqual(deep?.findings().issues, ['.llm_message.mood is not declared'])
    assert.equal(judgeFrame('/chat', '{}'), undefined)
  })
})

describe('comparing a value with a schema', () => {
  const document = {
    defs: {
      Cat: { type: 'object', properties: { kind: { const: 'cat' }, lives: { type: 'integer' } }, required: ['lives'] },
      Dog: { type: 'object', properties: { kind: { const: 'dog' } }, additionalProperties: false },
    },
  }
  const pet = { oneOf: [{ $ref: '#/defs/Cat' }, { $ref: '#/defs/Dog' }, { type: 'null' }] }
  const issues = (schema: object, value: unknown) => compare(document, schema, value).issues

  test('follows what a value says it is', () => {
    assert.deepEqual(issues(pet, { kind: 'cat', lives: 9 }), [])
    assert.deepEqual(issues(pet, null), [])
    assert.deepEqual(issues(pet, { kind: 'cat' }), ['.lives is missing'])
    assert.deepEqual(issues(pet, { kind: 'dog', lives: 1 }), ['.lives is not allowed'])
    assert.deepEqual(issues(pet, 7), ['the whole fits none of 3'])
  })

  for (const [schema, good, bad] of [
    [{ type: 'integer', minimum: 1 }, [1, 2], [0, 1.5, '1', null]],
    [{ type: ['string', 'null'], maxLength: 2 }, ['', 'ab', null], ['abc', 1, [], {}]],
    [{ type: 'string', pattern: '^a' }, ['ab'], ['b']],
    [{ enum: ['a', 'b'] }, ['a'], ['c', null]],
    [{ type: 'array', items: { type: 'boolean' } }, [[], [true]], [[1], {}, null]],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, [['a', 1]], [[1, 'a']]],
    [{ type: 'object', additionalProperties: { type: 'number' } }, [{}, { a: 1 }], [{ a: '1' }, [], null]],
    [{ type: 'object', propertyNames: { pattern: '^a' } }, [{ a: 1 }], [{ b: 1 }]],
    [{ allOf: [{ type: 'number' }, { exclusiveMaximum: 3 }] }, [2], [3, 'a']],
    [{ not: { type: 'null' } }, [1], [null]],
    [{ format: 'date-time' }, ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123456+01:00'], ['2026-01-01T00:00:00']],
    [{ format: 'uuid' }, [CONVERSATION, CONVERSATION.replaceAll('-', '')], ['7', 'x'.repeat(32)]],
  ] as [object, unknown[], unknown[]][])
    test(JSON.stringify(schema), () => {
      for (const value of good) assert.deepEqual(issues(schema, value), [], JSON.stringify(value))
      for (const value of bad) assert.equal(issues(schema, value).length > 0, true, JSON.stringify(value))
    })
})
