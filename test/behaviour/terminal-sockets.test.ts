import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { sockets } from '../../src/api/routes/sockets.ts'
import { TERMINALS_AT_ONCE } from '../../src/sandbox/terminals.ts'
import { knocks, MODES, type Mode, signIn, startIn } from '../support/access.ts'
import { execute, peakMemory, sh } from '../support/bash.ts'
import { inParallel } from '../support/exchange.ts'
import { Box, NO_WALLS } from '../support/hands.ts'
import { anOrder, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'
import { until } from '../support/wait.ts'

const PATH = '/sockets/terminal'
const MIB = 1024 * 1024

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

/** A terminal as a person sees it. */
class Screen extends TestSocket {
  get shown(): string {
    return this.frames.map(({ data = '' }) => data).join('')
  }

  type(keys: string): void {
    this.send({ type: 'input', data: keys })
  }

  shows(what: string | RegExp): Promise<unknown> {
    const isShown = () => (typeof what === 'string' ? this.shown.includes(what) : what.test(this.shown))
    return until(`the terminal shows ${what}`, isShown)
  }

  /** Types a line and waits for what it prints, which is never what was typed. */
  async run(line: string, prints: string | RegExp): Promise<void> {
    this.type(`${line}\n`)
    await this.shows(prints)
  }
}

const open = (query = '', place: { url: string } = server, headers: Record<string, string> = {}) =>
  new Screen(place.url, PATH + query, headers)
const ready = async (query = ''): Promise<Screen> => {
  const screen = await open(query).opened()
  await screen.run('echo rea""dy', 'ready\r\n')
  return screen
}

/** Whether something in the default sandbox sleeps for just so long. */
const isRunning = async (seconds: number): Promise<boolean> => {
  const { exit_code, stderr } = await execute(server, `pgrep -fx 'sleep ${seconds}'`)
  assert.equal(stderr, null)
  return exit_code === 0
}

describe('a terminal over a socket', () => {
  test('what is typed is echoed, run and answered', async () => {
    using screen = await ready()
    await screen.run('echo $((6 * 7)):$TERM', '42:xterm-256color\r\n')
    assert.match(screen.shown, /echo \$\(\(6 \* 7\)\):\$TERM/)
    await screen.run('[ -t 0 ] && [ -t 1 ] && echo is a termin""al', 'is a terminal\r\n')
  })

  test('it has the size that was asked for, and the last one it was resized to', async () => {
    using screen = await ready('?columns=91&rows=33')
    await screen.run('stty size', '33 91\r\n')
    await screen.run("trap 'stty size' WINCH; echo trap''ped", 'trapped\r\n')
    for (let columns = 100; columns <= 120; columns += 1) screen.send({ type: 'resize', columns, rows: 40 })
    await screen.shows('40 120\r\n')
    using small = await ready()
    await small.run('stty size', '24 80\r\n')
  })

  test('ctrl-c ends the program and spares the shell, ctrl-z and fg work', async () => {
    using screen = await ready()
    screen.type("echo sleep''ing; sleep 731\n")
    await screen.shows('sleeping\r\n')
    await until('it sleeps', () => isRunning(731))
    screen.type('\x03')
    await screen.run('echo code $?', 'code 130\r\n')
    screen.type('sleep 732\n')
    await until('it sleeps', () => isRunning(732))
    screen.type('\x1a')
    await screen.shows(/Stopped/)
    screen.type('fg\n')
    await screen.shows(/fg\r\n\S*\r?sleep 732/)
    screen.type('\x03')
    await until('it is gone', async () => !(await isRunning(732)))
  })

  test('the end of the shell is told with its code, and is the end of the socket', async () => {
    using screen = await ready()
    screen.type('echo la""st; exit 7\n')
    assert.deepEqual(await screen.ended(), { code: 1000, reason: 'The shell has ended' })
    assert.deepEqual(screen.frames.at(-1), { type: 'exit', code: 7 })
    assert.match(screen.shown, /last\r\n/)
  })

  test('what the shell left in the background ends with it', async () => {
    using screen = await ready()
    screen.type('nohup sleep 741 >/dev/null 2>&1 &\n')
    await until('it sleeps', () => isRunning(741))
    screen.type('exit\n')
    await screen.ended()
    await until('it is gone', async () => !(await isRunning(741)))
  })

  test('closing the socket ends everything that was started in it, also what ignores being asked to', async () => {
    const screen = await ready()
    screen.type("(trap '' HUP TERM; setsid sleep 751) & sleep 752\n")
    await until('both sleep', async () => (await isRunning(751)) && (await isRunning(752)))
    await screen.close()
    await until('both are gone', async () => !(await isRunning(751)) && !(await isRunning(752)))
  })

  test('characters that arrive in pieces are told whole', async () => {
    using screen = await ready()
    await screen.run(
      "for byte in '\\360' '\\237' '\\214' '\\215' '\\303' '\\251'; do printf \"$byte\"; sleep 0.03; done; echo .",
      '🌍é.'.replace('🌍', '\u{1F30D}'),
    )
    assert.ok(!screen.shown.includes('\uFFFD'))
    screen.type("printf '%s|' żółć 日本 | od -An -tx1 | tr -d ' \\n'; echo\n")
    await screen.shows(`${Buffer.from('żółć|日本|').toString('hex')}\r\n`)
  })

  test('it starts where it was told to, and says so where that is nowhere', async () => {
    await sh(server, 'mkdir -p /tmp/"a place"')
    using there = await ready('?cwd=/tmp/a%20place')
    await there.run('echo "at $PWD."', 'at /tmp/a place.')
    using plain = await ready()
    await plain.run('echo "at $PWD."', `at ${(await sh(server, 'pwd')).trim()}.`)
    using nowhere = await open('?cwd=/no/such/folder').opened()
    assert.equal((await nowhere.ended()).code, 1000)
    assert.deepEqual(nowhere.frames.at(-1), { type: 'exit', code: 126 })
    assert.match(nowhere.shown, /\/no\/such\/folder/)
  })

  test("a conversation's terminal is where it works, before it ever ran", async () => {
    const { id } = await server.client.startConversation({
      body: anOrder({ workspace: { working_dir: '/workspace/of-its-own' } }),
    })
    using screen = await ready(`?conversation_id=${id}`)
    await screen.run('echo "at $PWD."', 'at /workspace/of-its-own.')
    await screen.run('mkdir below; echo ma""de', 'made\r\n')
    using below = await ready(`?conversation_id=${id}&cwd=below`)
    await below.run('echo "at $PWD."', 'at /workspace/of-its-own/below.')
    using unknown = await open(`?conversation_id=${crypto.randomUUID()}`).opened()
    assert.equal((await unknown.ended()).code, 4004)
  })

  test('what is wrong with a frame is said, and the terminal goes on', async () => {
    using screen = await ready()
    const wrong = [
      'no json',
      '{}',
      'null',
      '{"type":"input"}',
      '{"type":"input","data":7}',
      '{"type":"resize","columns":0,"rows":1}',
      '{"type":"resize","columns":80}',
      '{"type":"output","data":"x"}',
      JSON.stringify({ type: 'input', data: 'x'.repeat(64 * 1024 + 1) }),
    ]
    for (const frame of wrong) screen.send(frame)
    const errors = () => screen.frames.filter(({ type }) => type === 'error')
    await until('all were answered', () => errors().length === wrong.length)
    for (const { code } of errors()) assert.match(code, /^(JSONDecodeError|ValidationError)$/)
    await screen.run('echo go""es on', 'goes on\r\n')
    for (const query of ['?columns=0', '?rows=many', '?cwd=%00', '?conversation_id=x'])
      await assert.rejects(open(query).opened(), /403/)
  })
})

describe('P5: a terminal harms only itself', () => {
  test('a flood waits for who reads it, can be interrupted, and fills nothing', async () => {
    const status = async () => readFile(`/proc/${server.pid}/status`, 'utf8')
    using screen = await ready()
    const before = peakMemory(await status())
    screen.type('yes; echo af""ter\n')
    await screen.shows(/(y\r\n){1000}/)
    screen.socket.pause()
    using other = await ready()
    const written = () => sh(server, 'grep wchar /proc/$(pgrep -x yes)/io')
    let last = ''
    await until('it waits', async () => {
      const before = last
      last = await written()
      return last === before
    })
    await other.run('echo as qui""ck as ever', 'as quick as ever\r\n')
    screen.type('\x03')
    screen.socket.resume()
    await screen.run('echo go""es on', 'goes on\r\n')
    assert.ok(peakMemory(await status()) - before < 48 * MIB, 'the flood was kept in memory')
  })

  test('what nothing reads is refused past a limit', { skip: NO_WALLS }, async () => {
    const box = await Box.start(server)
    using screen = new Screen(server.url, PATH, { 'X-Session-API-Key': box.key })
    await screen.opened()
    await screen.run('echo rea""dy', 'ready\r\n')
    await box.ok('pause')
    const refused = () => screen.frames.filter(({ code }) => code === 'terminal_full').length
    for (let sent = 0; sent < 80; sent += 1) screen.type('x'.repeat(32 * 1024))
    await until('some was refused', () => refused() > 0)
    await screen.close()
    await box.ok('delete')
  })

  test(`${TERMINALS_AT_ONCE} are open at once; one more is told to come back, and room comes back`, async () => {
    await using own = await TestServer.start()
    using all = new DisposableStack()
    const first = all.use(open('', own))
    await first.opened()
    await first.run('echo rea""dy', 'ready\r\n')
    const others = Array.from({ length: TERMINALS_AT_ONCE - 1 }, () => all.use(open('', own)))
    await Promise.all(others.map(one => one.opened()))
    using late = open('', own)
    assert.equal((await late.ended()).code, 1013)
    await first.close()
    await until('there is room', async () => {
      using again = await open('', own).opened()
      await until('it is told or shown', () => again.closed || again.frames.length > 0)
      return again.closed === undefined
    })
  })
})

describe('what becomes of a terminal', { skip: NO_WALLS }, () => {
  test('a sandbox that is paused says so; one that is deleted ends its terminals', async () => {
    const box = await Box.start(server)
    const path = `/sandboxes/${box.id}${PATH}`
    using screen = new Screen(server.url, path, { 'X-Session-API-Key': box.key })
    await screen.opened()
    await screen.run('echo rea""dy', 'ready\r\n')
    await box.ok('pause')
    using late = await new Screen(server.url, path, { 'X-Session-API-Key': server.key }).opened()
    const { code, reason } = await late.ended()
    assert.deepEqual([code, reason], [4009, `Sandbox ${box.id} is paused: resume it first`])
    await box.ok('resume')
    await screen.run('echo a""wake', 'awake\r\n')
    await box.ok('delete')
    assert.equal((await screen.ended()).code, 4009)
  })

  test("a sandbox's key opens a terminal there and nowhere else", async () => {
    const [a, b] = await Promise.all([Box.start(server), Box.start(server)])
    await a.sh('touch /tmp/of-a')
    const key = { 'X-Session-API-Key': a.key }
    for (const path of [PATH, `/sandboxes/${a.id}${PATH}`]) {
      using screen = await new Screen(server.url, path, key).opened()
      await screen.run('ls /tmp/of-a && echo the""re', 'there\r\n')
    }
    using elsewhere = new Screen(server.url, `/sandboxes/${b.id}${PATH}`, key)
    assert.equal((await elsewhere.ended()).code, 4004)
    const { id } = await server.client.startConversation({ body: anOrder() })
    for (const path of [PATH, `/sandboxes/${a.id}${PATH}`]) {
      using theirs = new Screen(server.url, `${path}?conversation_id=${id}`, key)
      assert.equal((await theirs.ended()).code, 4004)
      assert.deepEqual(theirs.frames, [])
    }
    const own = await a.client.startConversation({ body: anOrder() })
    using ours = await new Screen(server.url, `${PATH}?conversation_id=${own.id}`).opened()
    await ours.run('ls /tmp/of-a && echo the""re', 'there\r\n')
  })

  test('a restart says so', async () => {
    await using own = await TestServer.start()
    using screen = await open('', own).opened()
    await screen.run('echo rea""dy', 'ready\r\n')
    assert.equal(await own.stop(), 0)
    assert.equal((await screen.ended()).code, 1012)
  })
})

describe('P6: who may open a terminal', () => {
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
      const cases = knocks(sockets.terminal.access, mode, servers[mode], cookies[mode])
      const found = await inParallel(cases, async ({ name, query, headers, isLetIn }) => {
        using screen = new Screen(url, `${PATH}?${query}`, headers)
        const refused = await screen.opened().then(
          () => false,
          () => true,
        )
        if (!refused) {
          screen.type('\n')
          await until('it was let in or told to go', () => screen.closed || screen.frames.length > 0)
        }
        // Those before it may still be ending: who is told that there is no room was let in.
        const isIn = screen.closed?.code === 1013 || screen.frames.some(({ type }) => type === 'output')
        return isIn === isLetIn ? [] : [`${name}: ${JSON.stringify(screen.closed)}`]
      })
      assert.deepEqual(found.flat(), [])
    })

  test('the first message may bring the key, and a wrong one opens nothing', async () => {
    const { url, key } = servers.key
    using right = await new Screen(url, PATH).opened()
    right.send({ type: 'auth', session_api_key: key })
    await right.run('echo i""n', 'in\r\n')
    for (const frame of [
      { type: 'auth', session_api_key: 'wrong' },
      { type: 'input', data: 'exit\n' },
    ]) {
      using wrong = await new Screen(url, PATH).opened()
      wrong.send(frame)
      assert.deepEqual(await wrong.ended(), { code: 4001, reason: 'Authentication failed' })
      assert.deepEqual(wrong.frames, [])
    }
  })
})
