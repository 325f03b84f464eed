import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { DRAIN_MS } from '../../src/http/limits.ts'
import { KEY } from '../support/access.ts'
import { Command } from '../support/command.ts'
import { exchange, exchangeJson } from '../support/exchange.ts'
import { sampled } from '../support/sampled.ts'
import { aMessage, anOrder, TestServer, tempFolder } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { NO_TERMINAL, Terminal } from '../support/terminal.ts'
import { until } from '../support/wait.ts'

let folder: string
before(async () => {
  folder = await tempFolder()
})
after(() => rm(folder, { recursive: true, force: true }))

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('the data folder', () => {
  test('is made for its owner alone, with its parents, and so are the keys', async () => {
    const data = join(folder, 'made', 'below')
    await using _ = await TestServer.start({ data })
    assert.equal(await modeOf(data), '700')
    for (const file of ['session-key', 'secret-key']) assert.equal(await modeOf(join(data, file)), '600', file)
  })

  test('keeps what is in it from others, even where others may enter it', async () => {
    const data = join(folder, 'open')
    await mkdir(data)
    await chmod(data, 0o755)
    await writeFile(join(data, 'session-key'), 'a'.repeat(43), { mode: 0o644 })
    await using server = await TestServer.start({ data })
    await server.client.startConversation({ body: anOrder({ initial_message: aMessage('private') }) })
    if ((await modeOf(data)) === '700') return
    for (const entry of await readdir(data, { withFileTypes: true }))
      assert.equal(await modeOf(join(data, entry.name)), entry.isDirectory() ? '700' : '600', entry.name)
  })

  test('keeps the key that was made first', async () => {
    const data = join(folder, 'kept')
    const keys: string[] = []
    for (let start = 0; start < 2; start++) {
      await using server = await TestServer.start({ data })
      keys.push(await readFile(join(data, 'session-key'), 'utf8'), await readFile(join(data, 'secret-key'), 'utf8'))
      assert.equal((await server.client.listSecrets()).secrets.length, 0)
    }
    const [session, secret, ...again] = keys
    assert.deepEqual(again, [session, secret])
    assert.notEqual(session, secret)
    assert.ok(session!.length >= 43)
  })
})

describe('what it says when it starts', () => {
  /** Without the log. */
  const saidBy = ({ output }: TestServer) => output.split('\n').filter(line => line !== '' && !line.startsWith('{'))

  test('to a program: the address and where the key is, never the key', async () => {
    await using server = await TestServer.start()
    await server.client.countConversations()
    await until('the request was logged', () => server.output.includes('"request"'))
    assert.deepEqual(saidBy(server), [
      `Gantry 0.1.0 listens on ${server.url}`,
      `The session key is in ${join(server.data, 'session-key')}`,
    ])
    assert.ok(!server.output.includes(server.key))
    assert.doesNotMatch(server.output, /token=/)
  })

  test('with a key from outside: nothing of keys', async () => {
    await using server = await TestServer.start({ env: { SESSION_API_KEY: KEY } })
    await server.client.countConversations()
    await until('the request was logged', () => server.output.includes('"request"'))
    assert.deepEqual(saidBy(server), [`Gantry 0.1.0 listens on ${server.url}`])
    assert.ok(!server.output.includes(KEY))
  })

  test('at a terminal: a link that signs in once, and not the key', { skip: NO_TERMINAL }, async () => {
    const data = join(folder, 'terminal')
    await using terminal = new Terminal(data)
    const link = new URL(await terminal.link())
    const signIn = () =>
      exchangeJson(link.origin, {
        method: 'POST',
        path: '/api/auth/sign-in',
        body: { token: link.hash.replace('#token=', '') },
      })
    assert.equal((await signIn()).status, 204)
    assert.equal((await signIn()).status, 401)
    assert.ok(!terminal.shown.includes(await readFile(join(data, 'session-key'), 'utf8')))
    assert.equal(await terminal.stop('SIGINT'), 0)
  })

  test('the port it was given when it may choose one', async () => {
    await using command = new Command(['--port', '0', '--data', join(folder, 'port')])
    const url = await command.url()
    assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d{3,4}$/)
    assert.equal((await exchange(url, { path: '/alive' })).status, 200)
  })
})

describe('how it ends', () => {
  const some = sampled(2)
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    some(`${signal}: what is under way is finished, nothing new is begun, and the exit code is 0`, async () => {
      await using server = await TestServer.start()
      const body = JSON.stringify(anOrder({ initial_message: aMessage('in flight') }))
      const sent = request(`${server.url}/api/conversations`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      })
      const answered = once(sent, 'response')
      sent.write(body.slice(0, 10))
      await until('the request was in flight', async () =>
        /^gantry_http_requests_in_flight 2$/m.test(await metricsOf(server)),
      )
      const ended = server.stop(signal)
      await until('no connection was taken any more', () =>
        exchange(server.url, { path: '/health', headers: { Connection: 'close' } }).then(
          () => false,
          () => true,
        ),
      )
      sent.end(body.slice(10))
      const [response] = await answered
      assert.equal(response.statusCode, 201)
      const { id } = JSON.parse(await text(response))
      const answeredAt = performance.now()
      assert.equal(await ended, 0)
      assert.ok(performance.now() - answeredAt < DRAIN_MS / 2, 'it waits for a connection that has nothing more to say')
      assert.doesNotMatch(server.output, /"level":"error"/)

      await using again = await TestServer.start({ data: server.data })
      assert.equal((await again.client.getConversation({ params: { conversation_id: id } })).id, id)
    })

  test('readers are told to come back', async () => {
    await using server = await TestServer.start()
    const { id } = await server.client.startConversation({ body: anOrder() })
    using socket = new TestSocket(server.url, `/sockets/events/${id}`)
    await socket.frame('the snapshot', Boolean)
    const stream = fetch(`${server.url}/api/conversations/${id}/events/stream`).then(response => response.text())
    await until('both read', async () => /^gantry_readers 2$/m.test(await metricsOf(server)))
    assert.equal(await server.stop(), 0)
    assert.equal((await socket.ended()).code, 1012)
    assert.match(await stream, /event: close\ndata: \{"code":1012/)
  })

  test('a second signal does not wait', async () => {
    await using server = await TestServer.start()
    const sent = request(`${server.url}/api/conversations`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': 1000 },
    })
    sent.on('error', () => undefined)
    sent.write('{')
    await until('the request was in flight', async () =>
      /^gantry_http_requests_in_flight 2$/m.test(await metricsOf(server)),
    )
    const ended = once(server.process, 'exit')
    server.process.kill('SIGTERM')
    await until('no connection was taken any more', () =>
      exchange(server.url, { path: '/health', headers: { Connection: 'close' } }).then(
        () => false,
        () => true,
      ),
    )
    server.process.kill('SIGTERM')
    assert.equal((await ended)[0], 1)
  })
})

const metricsOf = async ({ url, key }: TestServer): Promise<string> =>
  (await exchange(url, { path: '/metrics', headers: { 'X-Session-API-Key': key } })).text
