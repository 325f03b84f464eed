import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { routes } from '../../src/api/routes/index.ts'
import { Auth } from '../../src/http/auth.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { originPolicy } from '../../src/http/origin.ts'
import { Plain } from '../../src/http/reply.ts'
import { HttpServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/id.ts'
import { makeLog } from '../../src/lib/log.ts'
import { createServer as createHttp } from '../../src/lib/node-http.ts'
import { NO_WALLS, withSpecs } from '../support/hands.ts'
import { endSandboxes, groups, holders } from '../support/sandboxes.ts'
import { count, GANTRY, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** The codes with which a WebSocket is closed, as they travel: who is unknown, and what does not exist. */
const [UNKNOWN, ABSENT] = ['\x0f\xa1', '\x0f\xa4'] as const

/** Sends it all the moment somebody listens, and collects the answer. */
async function firstWords(port: number, request: string): Promise<string> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const open = await new Promise<boolean>(resolve => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    if (!open) {
      await new Promise(resolve => setTimeout(resolve, 1))
      continue
    }
    socket.write(request)
    let said = ''
    for await (const chunk of socket.setEncoding('latin1')) {
      said += chunk
      if (said.includes(UNKNOWN) || said.includes(ABSENT)) break
    }
    return said
  }
}

const get = (port: number, path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n${more}\r\n`
const upgrade = (port: number, path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa('x'.repeat(16))}\r\n\r\n`
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

/** A server that is asked things before it could be ready for them. */
async function asked(
  args: string[],
  env: Record<string, string>,
  requests: (port: number) => string[],
): Promise<string[]> {
  const data = await tempFolder()
  const port = await freePort()
  const child = spawn(process.execPath, [GANTRY, '--port', `${port}`, '--data', data, ...args], {
    env: { PATH: process.env.PATH, HOME: data, ...env },
    stdio: 'ignore',
  })
  try {
    return await Promise.all(requests(port).map(request => firstWords(port, request)))
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await endSandboxes(data)
    await rm(data, { recursive: true, force: true })
  }
}

describe('P6: what is asked the moment the port opens', () => {
  const all = (port: number) => [
    get(port, '/health'),
    get(port, '/server_info'),
    get(port, '/api/conversations/search'),
    get(port, '/api/conversations/search', 'X-Session-API-Key: wrong\r\n'),
    get(port, '/ready'),
    `GET / HTTP/1.1\r\nHost: 3000-any-any.localhost:${port}\r\nConnection: close\r\n\r\n`,
  ]

  test('in local mode, no caller of this machine is asked for a key', { skip: NO_WALLS }, async () => {
    for (let round = 0; round < count({ sample: 2, deep: 30 }); round++) {
      const answers = await asked([], {}, port => [...all(port), upgrade(port, `/sockets/events/${newId()}`)])
      assert.deepEqual(answers.map(statusOf), [200, 200, 200, 401, 200, 404, 101])
      assert.match(answers[1]!, /"isolated":true/)
      // Let in without a word, and told that there is no such conversation.
      assert.ok(answers.at(-1)!.includes(ABSENT))
    }
  })

  test('where nothing isolates, and where there is a key, nobody gets in without', async t => {
    const options = await withSpecs([{ id: 'plain', backend: 'process' }])
    t.after(options.remove)
    const answers = await asked(options.args!, {}, all)
    assert.deepEqual(answers.map(statusOf), [200, 200, 401, 401, 200, 404])
    assert.match(answers[1]!, /"isolated":false/)
    const closed = await asked([], { SESSION_API_KEY: 'key' }, all)
    assert.deepEqual(closed.map(statusOf), [200, 200, 401, 401, 200, 404])
  })
})

describe('while it is not known who may do what', () => {
  const opened = Promise.withResolvers<void>()
  const auth = new Auth(['key'], 'key')
  const http = new HttpServer({
    auth,
    origins: originPolicy(['localhost'], [], undefined),
    log: makeLog('error', () => undefined),
    metrics: new Metrics(),
    hasSandbox: () => true,
    opened: opened.promise,
    draining: () => false,
  })
  const handlers = Object.fromEntries(Object.keys(routes).map(name => [name, () => new Plain('text/plain', '')]))
  http.serve(routes, handlers as never)
  const server = createHttp((incoming, out) => http.handle(incoming, out))
  let url: string

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => server.close())

  test('only whether it lives is told; all the rest waits, and is then judged as it should be', async () => {
    for (const path of ['/health', '/alive']) assert.equal((await fetch(url + path)).status, 200)
    let answered = 0
    const paths = ['/api/conversations/count', '/server_info', '/ready', '/openapi.json', '/sandboxes/any/health', '/']
    const waiting = paths.map(async path => {
      const { status } = await fetch(url + path)
      answered += 1
      return status
    })
    await new Promise(resolve => setTimeout(resolve, 200))
    assert.equal(answered, 0)
    auth.trustLoopback()
    opened.resolve()
    assert.deepEqual(
      await Promise.all(waiting),
      paths.map(() => 200),
    )
  })
})

describe('a server that is killed while it tries its walls out', { skip: NO_WALLS }, () => {
  test('leaves nothing that the next start does not remove', async () => {
    for (let round = 0; round < count({ sample: 1, deep: 20 }); round++) {
      const data = await tempFolder()
      const child = spawn(process.execPath, [GANTRY, '--port', '0', '--data', data], { stdio: 'ignore' })
      const ended = once(child, 'exit')
      await until('it tries', async () => (await holders(data)).length > 0)
      child.kill('SIGKILL')
      await ended
      await using server = await TestServer.start({ data })
      await until('nothing is left of it', async () => (await holders(data)).length === 0)
      assert.equal((await fetch(`${server.url}/ready`)).status, 200)
      const trials = (await groups(data)).filter(folder => folder.includes('/trial'))
      assert.deepEqual(trials, [])
      await server.stop()
      assert.deepEqual(await groups(data), [])
      await rm(data, { recursive: true, force: true })
    }
  })
})
