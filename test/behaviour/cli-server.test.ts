import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Ownership } from '../../src/store/ownership.ts'
import { Cli, cli, cliOf } from '../support/cli.ts'
import { NO_WALLS } from '../support/hands.ts'
import { anOrder, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

const announced = (data: string) => join(data, 'server.json')

describe('a server that runs is found through its data folder', () => {
  test('it writes where it is, for its own user only, and takes that back when it ends', async () => {
    await using server = await TestServer.start()
    assert.deepEqual(JSON.parse(await readFile(announced(server.data), 'utf8')), { url: server.url, pid: server.pid })
    assert.equal((await stat(announced(server.data))).mode & 0o777, 0o600)
    assert.deepEqual(Ownership.announced(server.data), { url: server.url, pid: server.pid })
    await server.stop()
    assert.ok(!existsSync(announced(server.data)))
  })

  test('looking does not keep another from starting, and finds nothing where nobody is', async () => {
    const data = await tempFolder()
    assert.equal(Ownership.announced(data), undefined)
    assert.equal(Ownership.announced(join(data, 'nowhere')), undefined)
    Ownership.take(data, { pid: 1, since: 'now' }).close()
    for (let i = 0; i < 100; i++) Ownership.announced(data)
    Ownership.take(data, { pid: 1, since: 'now' }).close()
    await rm(data, { recursive: true })
  })

  test('one that was killed leaves an address behind that nobody believes: its key goes to no one', async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const asked: string[] = []
    const stranger = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers['x-session-api-key']}`)
      response.end('{}')
    }).listen(0, '127.0.0.1')
    t.after(() => stranger.close())
    await using server = await TestServer.start({ data })
    await server.stop('SIGKILL')
    assert.ok(existsSync(announced(data)), 'nobody took it back')
    const { port } = stranger.address() as AddressInfo
    await writeFile(announced(data), JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: process.pid }))
    const { code, stdout } = await cliOf({ data })(['ls', '--json'])
    assert.equal(code, 0)
    assert.equal(stdout, '[]\n')
    assert.deepEqual(asked, [])
    assert.ok(!existsSync(announced(data)))
  })
})

describe('which server a command talks to', () => {
  let server: TestServer
  let guarded: TestServer
  before(async () => {
    ;[server, guarded] = await Promise.all([
      TestServer.start(),
      TestServer.start({ env: { SESSION_API_KEY: 'a-key-from-outside' } }),
    ])
    await server.client.startConversation({ body: anOrder() })
  })
  after(() => Promise.all([server, guarded].map(one => one[Symbol.asyncDispose]())))

  const listed = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await cli(['ls', '--json', ...args], { env })
    return { code, found: code === 0 ? (JSON.parse(stdout) as unknown[]).length : undefined, stderr }
  }

  test('the one of the data folder, by option or environment', async () => {
    assert.equal((await listed(['--data', server.data])).found, 1)
    assert.equal((await listed([], { GANTRY_DATA: server.data })).found, 1)
    const config = join(server.data, 'config.json')
    await writeFile(config, JSON.stringify({ data: server.data }))
    assert.equal((await listed(['--config', config])).found, 1)
  })

  test('the one that is named, with the key from a file, the environment or the line', async () => {
    const file = join(guarded.data, 'key')
    await writeFile(file, 'a-key-from-outside\n')
    const named = ['--server', `${guarded.url}/`]
    assert.equal((await listed([...named, '--key-file', file])).found, 0)
    assert.equal((await listed([...named, '--key', 'a-key-from-outside'])).found, 0)
    assert.equal((await listed([], { GANTRY_URL: guarded.url, GANTRY_KEY: 'a-key-from-outside' })).found, 0)
  })

  test('without its key it says what is missing', async () => {
    for (const args of [[], ['--key', 'wrong']]) {
      const { code, stderr } = await listed(['--server', guarded.url, ...args])
      assert.equal(code, 1)
      assert.match(stderr, /^gantry: the server wants its key: --key-file[^\n]+\n$/)
    }
  })

  test('the key of the folder goes to the server of the folder alone', async t => {
    const keys: unknown[] = []
    const stranger = createServer((request, response) => {
      keys.push(request.headers['x-session-api-key'])
      response.setHeader('Content-Type', 'application/json').end('{"items":[],"next_page_id":null}')
    }).listen(0, '127.0.0.1')
    t.after(() => stranger.close())
    await once(stranger, 'listening')
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    assert.equal((await listed(['--server', url, '--data', server.data])).found, 0)
    assert.deepEqual(keys, [undefined])
  })

  test('one that does not answer is one line', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    await new Promise(done => closed.close(done))
    const { code, stderr } = await listed(['--server', `http://127.0.0.1:${port}`])
    assert.equal(code, 1)
    assert.match(stderr, /^gantry: the server does not answer: [^\n]*ECONNREFUSED[^\n]*\n$/)
  })

  test('gantry key --link prints a link that signs a browser in, once', async () => {
    const { code, stdout } = await cliOf(server)(['key', '--link'])
    assert.equal(code, 0)
    const [, url, token] = /^(.+)\/#token=([\w-]+)\n$/.exec(stdout)!
    assert.equal(url, server.url)
    const signIn = () =>
      fetch(`${server.url}/api/auth/sign-in`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ token }),
      })
    assert.equal((await signIn()).status, 204)
    assert.equal((await signIn()).status, 401)
    assert.match((await cliOf({ data: '/nonexistent' })(['key', '--link'])).stderr, /no server runs/)
  })

  test('gantry key prints the key of the folder, or says that there is none', async () => {
    assert.deepEqual(await cliOf(server)(['key']), { code: 0, stdout: `${server.key}\n`, stderr: '' })
    const { code, stderr } = await cliOf({ data: '/nonexistent' })(['key'])
    assert.equal(code, 1)
    assert.match(stderr, /no session key in \/nonexistent/)
  })
})

describe('without a server', { skip: NO_WALLS }, () => {
  test('one is started for the moment; others find it meanwhile, and it leaves nothing behind', async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const gantry = cliOf({ data })
    assert.deepEqual(await gantry(['ls']), { code: 0, stdout: '', stderr: 'There are no conversations.\n' })
    assert.ok(!existsSync(announced(data)))
    await using chat = new Cli(['chat', '--model', 'demo/guide', '--confirm', 'never'], {
      env: { GANTRY_DATA: data },
      open: true,
    })
    await until('it is announced', () => Ownership.announced(data))
    const found = await until('the conversation is there', async () => {
      const { stdout } = await gantry(['ls'])
      return stdout.includes('idle') ? stdout : undefined
    })
    assert.match(found, /^[0-9a-f]{8} {2}idle /)
    chat.process.stdin?.end('/quit\n')
    assert.equal((await chat.ended()).code, 0)
    assert.ok(!existsSync(announced(data)))
  })

  test('a folder that another process holds without serving yet is named, not fought for', async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const owner = Ownership.take(data, { pid: 4711, since: 'today' })
    const { code, stderr } = await cliOf({ data })(['ls'])
    owner.close()
    assert.equal(code, 1)
    assert.match(stderr, /^gantry: The data folder .* is in use by a running Gantry \(process 4711, since today\)\n$/)
  })
})

describe('gantry doctor', () => {
  test('says what is here and what isolates, and touches no data', async () => {
    const data = '/nonexistent-gantry-data'
    const { code, stdout } = await cliOf({ data })(['doctor', '--json'], { env: { GANTRY_PORT: '1' } })
    const findings = new Map<string, { state: string; text: string; fix?: string }>(
      JSON.parse(stdout).map((one: { name: string }) => [one.name, one]),
    )
    assert.match(findings.get('node')!.text, /^\d+\.\d+/)
    assert.match(findings.get('data')!.text, /made at the first start|cannot be written/)
    assert.equal(findings.get('isolation')!.state, NO_WALLS ? 'bad' : 'good')
    assert.equal(code, NO_WALLS ? 1 : 0)
    for (const name of ['git', 'bwrap', 'limits', 'memory', 'containers', 'port', 'models'])
      assert.ok(findings.has(name), name)
    for (const { state, fix } of findings.values()) assert.ok(state === 'good' || fix, 'what is missing can be got')
    assert.ok(!existsSync(data))
  })

  test('exits with 1 where nothing isolates', async t => {
    const data = await tempFolder()
    t.after(() => rm(data, { recursive: true, force: true }))
    const config = join(data, 'config.json')
    await writeFile(config, JSON.stringify({ sandbox_specs: [{ id: 'plain', backend: 'process' }] }))
    const { code, stdout } = await cliOf({ data })(['doctor', '--config', config])
    assert.equal(code, 1)
    assert.match(stdout, /^✗ isolation/m)
  })

  test('asks the server that runs, and finds its port taken by it', async () => {
    await using server = await TestServer.start()
    const { code, stdout } = await cliOf(server)(['doctor'])
    assert.equal(code, NO_WALLS ? 1 : 0)
    assert.match(stdout, new RegExp(`used by the server at ${server.url}`))
  })
})
