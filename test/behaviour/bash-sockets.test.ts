import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sockets } from '../../src/api/routes/sockets.ts'
import { BASH_READERS } from '../../src/http/limits.ts'
import { knocks, MODES, type Mode, signIn, startIn } from '../support/access.ts'
import { allEvents, execute, start } from '../support/bash.ts'
import { inParallel } from '../support/exchange.ts'
import { Random } from '../support/random.ts'
import { count, DEEP, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const PATH = '/sockets/bash-events'
const open = (query = '') => new TestSocket(server.url, PATH + query)

/** Resolves when it is live: a command of its own came back. */
async function live(socket: TestSocket): Promise<TestSocket> {
  await socket.opened()
  const command = `: ${crypto.randomUUID()}`
  socket.send({ command })
  await socket.frame('its command', frame => frame.command === command)
  return socket
}

/** Whether so many commands have begun, and all of them have ended. */
const hasEnded = ({ frames }: TestSocket, number: number): boolean => {
  const begun = frames.filter(({ kind }) => kind === 'BashCommand').length
  return begun >= number && frames.filter(({ exit_code }) => typeof exit_code === 'number').length === begun
}

describe('following commands over a socket', () => {
  test('a frame starts a command, and what becomes of it comes back, nulls included', async () => {
    using socket = await open().opened()
    socket.send({ command: 'echo hello', timeout: 5 })
    const output = await socket.frame('its end', ({ exit_code }) => exit_code === 0)
    const [command] = socket.frames
    assert.deepEqual(
      [command.kind, command.command, command.cwd, command.timeout],
      ['BashCommand', 'echo hello', null, 5],
    )
    assert.deepEqual([output.command_id, output.stdout, output.stderr], [command.id, 'hello\n', null])
  })

  test('nothing is replayed unless it is asked for', async () => {
    await execute(server, 'true')
    const log = await allEvents(server)
    using fresh = await live(open())
    assert.ok(!fresh.frames.some(({ id }) => log.some(event => event.id === id)))
    for (const query of ['?resend_mode=all', '?resend_all=true']) {
      using whole = await live(open(query))
      assert.deepEqual(whole.frames.slice(0, log.length), log)
    }
  })

  test('P2: everybody gets everything once, in order, across replay and live', async () => {
    const number = count({ sample: 30, deep: 400 })
    await server.client.clearBashEvents()
    using first = await live(open('?resend_mode=all'))
    using others = new DisposableStack()
    const late: TestSocket[] = []
    await inParallel(
      Array.from({ length: number }, (_, i) => i),
      async i => {
        if (i % 10 === 5) late.push(others.use(open('?resend_mode=all')))
        if (i % 2 === 0) await execute(server, `echo ${i}; sleep 0.0$((${i} % 7))`)
        else first.send({ command: `echo ${i}` })
      },
      4,
    )
    for (const socket of [first, ...late]) await until('all had ended', () => hasEnded(socket, number + 1))
    const log = await allEvents(server)
    for (const socket of [first, ...late]) assert.deepEqual(socket.frames, log)
  })

  test('what is wrong with a frame is said as a BashError, and the socket stays open', async () => {
    using socket = await open().opened()
    const wrong = [
      'no json',
      '[',
      '{}',
      '{"command":7}',
      '{"command":"a\\u0000b"}',
      '"x"',
      'null',
      '{"command":"x","timeout":-1}',
    ]
    for (const frame of wrong) socket.send(frame)
    await until('all were answered', () => socket.frames.length === wrong.length)
    for (const frame of socket.frames) {
      assert.deepEqual(Object.keys(frame), ['id', 'timestamp', 'code', 'detail', 'kind'])
      assert.equal(frame.kind, 'BashError')
      assert.match(frame.code, /^(JSONDecodeError|ValidationError)$/)
    }
    socket.send({ type: 'auth', session_api_key: server.key })
    socket.send({ command: 'echo alive' })
    await socket.frame('the end', ({ stdout }) => stdout === 'alive\n')
    assert.ok(!(await allEvents(server)).some(({ kind }) => kind === 'BashError'))
  })

  test(`${BASH_READERS} fit, one more is told to come back`, async () => {
    const sockets = await inParallel(Array(BASH_READERS).fill(0), () => live(open()))
    using late = open()
    assert.deepEqual(await late.ended(), { code: 1013, reason: 'Too many bash event connections' })
    await sockets[0]!.close()
    await until('there is room', async () => {
      using again = await open().opened()
      again.send({ command: ':' })
      await until('it is told or live', () => again.closed || again.frames.length > 0)
      return again.closed === undefined
    })
    for (const socket of sockets) socket[Symbol.dispose]()
  })

  test('P5: one that does not read harms only itself', async () => {
    using slow = await live(open())
    using quick = await live(open())
    slow.socket.pause()
    const { id } = await start(server, 'yes | head -c 7M; yes | head -c 7M >&2')
    const mine = () => quick.frames.filter(({ command_id }) => command_id === id)
    await until('the quick one had it all', () => mine().at(-1)?.exit_code === 0, 60_000)
    const text = mine()
      .map(({ stdout }) => stdout ?? '')
      .join('')
    assert.equal(text.length, 7 * 1024 * 1024)
    slow.socket.resume()
  })

  test('a restart says so', async () => {
    await using own = await TestServer.start()
    using socket = await new TestSocket(own.url, PATH).opened()
    assert.equal(await own.stop(), 0)
    assert.equal((await socket.ended()).code, 1012)
  })
})

describe('P6: who may follow and start commands', () => {
  const random = new Random()
  const servers = {} as Record<Mode, TestServer>
  const cookies = {} as Record<Mode, string>
  before(async () => {
    ;[servers.local, servers.key] = await Promise.all([startIn('local'), startIn('key')])
    for (const mode of MODES) cookies[mode] = await signIn(servers[mode])
  })
  after(() => Promise.all(Object.values(servers).map(one => one[Symbol.asyncDispose]())))

  for (const mode of MODES)
    test(`${mode} mode: every credential from everywhere`, async () => {
      const { url } = servers[mode]
      const cases = knocks(sockets.bash.access, mode, servers[mode], cookies[mode])
      const tried = cases.filter(() => DEEP || random.int(4) === 0)
      const found = await inParallel(tried, async ({ name, query, headers, isLetIn }) => {
        using socket = new TestSocket(url, `${PATH}?${query}`, headers)
        const mark = `: ${crypto.randomUUID()}`
        const refused = await socket.opened().then(
          () => false,
          () => true,
        )
        if (!refused) {
          socket.send({ command: mark })
          await until(
            'it was let in or told to go',
            () => socket.closed || socket.frames.some(({ command }) => command === mark),
          )
        }
        const isIn = !refused && socket.closed === undefined
        const words = `${name}: ${refused ? 'refused' : JSON.stringify(socket.closed)}`
        return isIn === isLetIn ? [] : [words]
      })
      assert.deepEqual(found.flat(), [])
    })

  test('the first message may bring the key, and a wrong one brings nothing', async () => {
    const { url, key } = servers.key
    using right = await new TestSocket(url, PATH).opened()
    right.send({ type: 'auth', session_api_key: key })
    right.send({ command: 'echo in' })
    await right.frame('the end', ({ stdout }) => stdout === 'in\n')
    for (const frame of [{ type: 'auth', session_api_key: 'wrong' }, { command: 'echo in' }, 'x']) {
      using wrong = await new TestSocket(url, PATH).opened()
      wrong.send(frame)
      assert.deepEqual(await wrong.ended(), { code: 4001, reason: 'Authentication failed' })
      assert.deepEqual(wrong.frames, [])
    }
    for (const query of ['?resend_mode=since', '?resend_all=perhaps'])
      await assert.rejects(new TestSocket(url, PATH + query, { 'X-Session-API-Key': key }).opened(), /403/)
  })
})
