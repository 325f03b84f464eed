import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import type { MCPServer } from '../../src/api/mcp.ts'
import { Listener, modern, sse, streamable } from '../support/mcp-http.ts'
import { Conversation } from '../support/mcp-servers.ts'
import { until } from '../support/wait.ts'

const at = ({ url }: Listener, more: Partial<MCPServer> = {}): MCPServer => ({ url, enabled: true, ...more })
const eventStream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

describe('MCP servers elsewhere', () => {
  test('streamable HTTP: tools answer, and new ones are picked up', async () => {
    await using listener = await Listener.start(streamable())
    await using conversation = await Conversation.open({ good: at(listener) })
    assert.equal(await conversation.said('shout', { text: 'hello' }), 'HELLO')
    assert.equal(await conversation.said('grow'), 'growing')
    await conversation.with('grown')
    assert.equal(await conversation.said('grown'), 'grown up')
  })

  test('the older transport of events: tools answer', async () => {
    await using listener = await Listener.start(sse())
    await using conversation = await Conversation.open({ old: at(listener, { transport: 'sse' }) })
    assert.equal(await conversation.said('whisper'), 'psst')
  })

  test('a server without a handshake: tools answer', async () => {
    await using listener = await Listener.start(modern())
    await using conversation = await Conversation.open({ new: at(listener) })
    assert.equal(await conversation.said('shout', { text: 'hello' }), 'HELLO')
  })

  test('bad servers beside a good one: it starts within a second, each is named with its reason', async () => {
    await using refusing = await Listener.start((_, response) => response.writeHead(503).end('out of order'))
    await using hanging = await Listener.start(() => undefined)
    await using closed = await Listener.start(() => undefined)
    await closed.down()
    await using locked = await Listener.start((_, response) => response.writeHead(401).end())
    await using page = await Listener.start((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    )
    await using endless = await Listener.start((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    await using away = await Listener.start((_, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    )
    await using good = await Listener.start(streamable())
    const begun = performance.now()
    await using conversation = await Conversation.open({
      refusing: at(refusing),
      hanging: at(hanging),
      closed: at(closed),
      locked: at(locked),
      page: at(page),
      endless: at(endless),
      away: at(away),
      nowhere: { url: 'not a url', enabled: true },
      good: at(good),
    })
    assert.ok(performance.now() - begun < 1_000, `took ${performance.now() - begun} ms`)
    assert.equal(await conversation.said('shout', { text: 'a' }), 'A')
    const reasons: Record<string, RegExp> = {
      refusing: /HTTP 503: .*out of order/,
      closed: /ECONNREFUSED/,
      locked: /credentials \(HTTP 401\)/,
      page: /content type/,
      endless: /more than 20 MB/,
      away: /HTTP 302: .*not followed/,
      nowhere: /URL is not one/,
    }
    for (const [server, reason] of Object.entries(reasons)) assert.match(await conversation.reason(server), reason)
    assert.equal(conversation.why('hanging'), 'it has not answered yet')
    assert.equal(conversation.why('good'), undefined)
  })

  test('every request goes through the fetch that was given', async () => {
    await using listener = await Listener.start(streamable())
    const fetch = () => Promise.reject(new Error('that address is not allowed'))
    await using conversation = await Conversation.open({ good: at(listener) }, { fetch })
    assert.match(await conversation.reason('good'), /that address is not allowed/)
  })

  const credentials: [string, Partial<MCPServer>, Record<string, string>][] = [
    ['a bearer token', { auth: { strategy: 'bearer', value: 's3cret' } }, { authorization: 'Bearer s3cret' }],
    ['an API key', { auth: { strategy: 'api_key', value: 'k', header_name: null } }, { authorization: 'Bearer k' }],
    ['an API key with a header', { auth: { strategy: 'api_key', value: 'k', header_name: 'X-Key' } }, { 'x-key': 'k' }],
    ['a password', { auth: { strategy: 'basic', username: 'a', password: 'b' } }, { authorization: 'Basic YTpi' }],
    ['headers as credential', { auth: { strategy: 'header', headers: { 'X-A': '1' } } }, { 'x-a': '1' }],
    ['plain headers', { headers: { 'X-B': '2' }, auth: { strategy: 'none' } }, { 'x-b': '2' }],
  ]
  for (const [what, more, expected] of credentials)
    test(`${what} goes with every request`, async () => {
      const heard: IncomingHttpHeaders[] = []
      await using listener = await Listener.start(streamable(headers => heard.push(headers)))
      await using conversation = await Conversation.open({ good: at(listener, more) })
      await conversation.said('shout', { text: 'a' })
      assert.ok(heard.length >= 4)
      for (const headers of heard)
        for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value)
    })

  test('a server that was restarted does not know us: the call is made in a new session', async () => {
    await using listener = await Listener.start(streamable())
    await using conversation = await Conversation.open({ good: at(listener) })
    await conversation.said('shout', { text: 'a' })
    listener.become(streamable())
    assert.equal(await conversation.said('shout', { text: 'b' }), 'B')
  })

  for (const [kind, handle] of [
    ['http', streamable],
    ['sse', sse],
  ] as const)
    test(`a server (${kind}) that went away is named, and picked up when it is back`, async () => {
      await using listener = await Listener.start(handle())
      await using conversation = await Conversation.open({ good: at(listener, { transport: kind }) })
      const tool = kind === 'sse' ? 'whisper' : 'shout'
      const args = kind === 'sse' ? {} : { text: 'a' }
      await conversation.said(tool, args)
      await listener.down()
      if (kind === 'http') await conversation.failed(tool, args)
      await until('it is named', () => conversation.why('good'))
      await listener.up(handle())
      await until('it is back', () => conversation.names.length > 0 && conversation.why('good') === undefined)
      await conversation.said(tool, args)
    })

  test('a result of 50 MB fails the call with a reason, and the server can be called again', async () => {
    await using listener = await Listener.start(streamable())
    await using conversation = await Conversation.open({ good: at(listener) })
    assert.match(await conversation.failed('big', { bytes: 50_000_000 }), /more than 20 MB/)
    assert.equal(await conversation.said('shout', { text: 'a' }), 'A')
  })

  test('an answer that breaks off fails the call at once', async () => {
    const handle = streamable()
    await using listener = await Listener.start(handle)
    await using conversation = await Conversation.open({ good: at(listener) })
    const call = conversation.failed('hang')
    await conversation.said('shout', { text: 'a' })
    const began = performance.now()
    await listener.down()
    await call
    assert.ok(performance.now() - began < 1_000)
  })

  test('a call that takes too long fails; an interrupted one at once', async () => {
    await using listener = await Listener.start(streamable())
    await using conversation = await Conversation.open({ good: at(listener, { timeout: 0.2 }) })
    assert.match(await conversation.failed('hang'), /not answer within 0.2 s/)
    await using patient = await Conversation.open({ good: at(listener) })
    const abort = new AbortController()
    const call = patient.run('hang', {}, abort.signal)
    await patient.said('shout', { text: 'a' })
    const reason = new Error('interrupted')
    const began = performance.now()
    abort.abort(reason)
    await assert.rejects(call, reason)
    assert.ok(performance.now() - began < 200)
  })

  test('a stream that is silent for longer than allowed is given up', async () => {
    await using listener = await Listener.start((request, response) => {
      if (request.method === 'GET') eventStream(response).write('event: endpoint\ndata: /messages\n\n')
      else response.writeHead(202).end()
    })
    const server = at(listener, { transport: 'sse', sse_read_timeout: 0.2 })
    await using conversation = await Conversation.open({ silent: server })
    await until('it is named', () => /said nothing for 0.2 s/.test(conversation.why('silent') ?? ''))
  })

  test('a flood of events without end takes little of our time', async () => {
    const handle = streamable()
    const noise = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })}\n\n`
    await using listener = await Listener.start((request, response) => {
      if (request.method !== 'GET') return handle(request, response)
      const more = () => {
        while (!response.destroyed && response.write(noise.repeat(100)));
      }
      eventStream(response).on('drain', more)
      more()
    })
    await using conversation = await Conversation.open({ flood: at(listener) })
    const before = process.cpuUsage()
    const began = performance.now()
    assert.equal(await conversation.said('shout', { text: 'a' }), 'A')
    await until('a second has gone by', () => performance.now() - began > 1_000)
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1_000 < 400, `${(user + system) / 1_000} ms of CPU in a second`)
  })

  test('only the tools that are wanted, and none under a name that another tool has', async () => {
    await using listener = await Listener.start(streamable())
    await using conversation = await Conversation.open(
      { good: at(listener) },
      { filter: /^(shout|grow)$/, taken: ['shout'] },
    )
    assert.equal(await conversation.said('good_shout', { text: 'a' }), 'A')
    assert.deepEqual(conversation.names, ['good_shout', 'grow'])
  })

  test('a conversation that is interrupted while it opens does not wait for its servers', async () => {
    await using listener = await Listener.start(() => undefined)
    await using conversation = new Conversation({ hanging: at(listener) }, {})
    const abort = new AbortController()
    const opening = conversation.mcp.open(60_000, abort.signal)
    const reason = new Error('interrupted')
    abort.abort(reason)
    await assert.rejects(opening, reason)
  })
})
