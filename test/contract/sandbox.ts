import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { constants } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, type TestContext } from 'node:test'
import { type ErrorCode, Fault } from '../../src/api/errors.ts'
import { newId } from '../../src/lib/id.ts'
import type { Refusal } from '../../src/sandbox/egress/refusals.ts'
import { type Outcome, run } from '../../src/sandbox/run.ts'
import type {
  Backend,
  Command,
  Egress,
  Exit,
  Limits,
  Order,
  Process,
  Sandbox,
  State,
} from '../../src/sandbox/sandbox.ts'
import { sampled } from '../support/sampled.ts'
import { count, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** What a backend can do beyond what all must. What it cannot is skipped, visibly. */
export interface Capabilities {
  /** Runs `order.command`, and fails to start when that fails. */
  command: boolean
  /** Keeps to `order.limits`. */
  limits: boolean
  /** Keeps a grant that is for reading only from being written to, and the host's other files out of sight. */
  isolated: boolean
}

export interface Arena {
  backend: Backend
  capabilities: Capabilities
  /** What commands were refused on their way out. Absent where their network cannot be narrowed. */
  refusals?: Refusal[]
  /** What an order must have for this backend, beside what the suite says. */
  order?: Partial<Order>
  /** Another server on the same resources, after this one has died. */
  reopen(): Promise<Backend>
  [Symbol.asyncDispose](): Promise<void>
}

/** All a command finds in its environment that nobody asked for. */
const OWN_VARIABLES = /^(PATH|HOME|USER|LOGNAME|LANG|TERM|HOSTNAME|PWD|OLDPWD|SHLVL|_|GANTRY_SANDBOX|GANTRY_EXEC)$/

const MB = 1_000_000
const LIMITS: Limits = { memoryBytes: 512 * MB, processes: 200, cpus: 2, diskBytes: 1_000 * MB }

/** Long enough to be sure that nothing happens: nothing can be waited for there. */
const NOTHING_MS = 300
/** Beyond it, an end that should come at once counts as hanging. */
const PROMPT_MS = 8_000

const CLOSED_ON_EXEC = 0o2000000

export const is = (code: ErrorCode) => (error: unknown) => error instanceof Fault && error.code === code

/** A shell's words, for what only a shell can say. */
export const sh = (script: string, ...words: string[]): [string, ...string[]] => ['sh', '-c', script, 'sh', ...words]

type Words = Command['argv'] | string

const command = (words: Words, more: Partial<Command> = {}): Command => ({
  argv: typeof words === 'string' ? sh(words) : words,
  ...more,
})

const outcome = (box: Sandbox, words: Words, more: Partial<Command> & { input?: string | Uint8Array } = {}) => {
  const { input, ...rest } = more
  return run(box, command(words, rest), { limit: 64 * MB, input })
}

const said = ({ stdout }: Outcome): string => stdout.toString()

/** What it printed; it must have gone well. */
async function output(box: Sandbox, words: Words, more: Parameters<typeof outcome>[2] = {}): Promise<string> {
  const ended = await outcome(box, words, more)
  assert.deepEqual([ended.code, ended.reason], [0, 'exited'], `${words}: ${ended.stderr}`)
  return said(ended)
}

/** Follows what a process prints, so that its words can be waited for. */
class Listener {
  text = ''
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
    process.stdout.setEncoding('utf8').on('data', chunk => {
      this.text += chunk
    })
    process.stderr.resume()
  }

  async hears(what: string | RegExp): Promise<void> {
    const heard = () => (typeof what === 'string' ? this.text.includes(what) : what.test(this.text))
    await until(`${what} came`, heard).catch(error => assert.fail(`${error.message}: ${JSON.stringify(this.text)}`))
  }

  write(text: string): void {
    this.#process.stdin!.write(text)
  }
}

async function begun(box: Sandbox, words: Words, more: Partial<Command> = {}) {
  const process = await box.exec(command(words, more))
  return { process, listener: new Listener(process) }
}

async function tookMs(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return Math.round(performance.now() - began)
}

async function promptly<T>(what: string, promise: Promise<T>, ms = PROMPT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Ignores the polite signal, leaves its session, loses its parents, clears its environment: each in its own way. */
const TREE = `
trap '' TERM; echo $$ >top; trap - TERM
setsid sh -c 'echo $$ >session; exec sleep 300' &
( ( sh -c 'echo $$ >orphan; exec sleep 300' & ) & )
( setsid sh -c '( trap "" TERM; sh -c "echo \\$\\$ >daemon; exec sleep 300" & )' )
env -i sh -c 'echo $$ >cleared; exec sleep 300' &
sh -c 'trap "" TERM; echo $$ >stubborn; while :; do sleep 300; done' &
for name in top session orphan daemon cleared stubborn; do until [ -s $name ]; do sleep 0.02; done; done
echo ready
while :; do sleep 300; done`
const MEMBERS = ['top', 'session', 'orphan', 'daemon', 'cleared', 'stubborn']

/** The names of those that still run. All must have been started. */
async function living(box: Sandbox, cwd: string): Promise<string[]> {
  const script = `for name; do [ -s $name ] || { echo "$name never ran"; continue; }
read -r pid <$name; { read -r line </proc/$pid/stat; } 2>/dev/null || continue
case \${line##*) } in [ZX]*) ;; *) echo $name ;; esac; done`
  return (await output(box, sh(script, ...MEMBERS), { cwd })).split('\n').filter(Boolean)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Sends back what it gets, with whatever is there to do so. */
const ECHO_SERVER = `port=$1
if command -v perl >/dev/null; then exec perl -MIO::Socket::INET -e '
$s = IO::Socket::INET->new(LocalAddr=>"127.0.0.1", LocalPort=>shift, Listen=>5, ReuseAddr=>1) or die;
while ($c = $s->accept) { if (fork) { close $c; next } while (sysread($c, $b, 65536)) { syswrite($c, $b) } exit }' "$port"
else exec busybox nc -ll -p "$port" -e cat; fi`

/** The backend under test, and what most tests need of it. */
class Floor {
  readonly name: string
  readonly canary = `canary-${newId()}`
  arena!: Arena
  /** Most commands need no sandbox of their own. */
  shared!: Sandbox

  constructor(name: string) {
    this.name = name
  }

  get backend(): Backend {
    return this.arena.backend
  }

  order(more: Partial<Order> = {}): Order {
    return {
      id: newId(),
      workingDir: '/workspace',
      env: {},
      limits: LIMITS,
      egress: { mode: 'none' },
      grants: [],
      ...this.arena.order,
      ...more,
    }
  }

  /** A sandbox of a test's own, removed after it. */
  async started(more: Partial<Order> = {}) {
    const { backend } = this
    const order = this.order(more)
    await backend.start(order)
    return {
      order,
      id: order.id,
      box: backend.sandbox(order.id),
      [Symbol.asyncDispose]: () => backend.remove(order.id),
    }
  }

  async state(id: string): Promise<State> {
    return (await this.backend.look(id)).state
  }

  /** An empty folder inside, for one test. */
  async folder(box = this.shared): Promise<string> {
    return (await output(box, sh('d=$HOME/$1; mkdir -p "$d" && cd "$d" && pwd', newId()))).trim()
  }

  /** Neither a way in that is asked for now, nor one from before, leads inside. */
  async isShut(id: string, held: Sandbox): Promise<void> {
    const ways = [async () => this.backend.sandbox(id), async () => held]
    for (const way of ways)
      await assert.rejects(async () => (await way()).exec(command(['true'])), is('sandbox_unavailable'))
  }

  lacks(t: TestContext, capability: keyof Capabilities): boolean {
    const has = this.arena.capabilities[capability]
    if (!has) t.skip(`${this.name} lacks: ${capability}`)
    return !has
  }
}

/** How tests are declared, for the backend that is being described. */
let test = sampled(1)

/**
 * Proves every promise of the port on a backend. `skip` is a reason to prove nothing here; `oneIn`: of so many tests one is
 * tried, unless all are asked for.
 */
export function sandboxContract(
  name: string,
  open: () => Promise<Arena>,
  skip: string | false = false,
  { oneIn = 1 } = {},
): void {
  describe(`${name}: the sandbox port`, { skip }, () => {
    const floor = new Floor(name)
    before(async () => {
      process.env.GANTRY_TEST_CANARY = floor.canary
      floor.arena = await open()
      const order = floor.order({ env: { ORDERED: 'by the order', BOTH: 'order' } })
      await floor.backend.start(order)
      floor.shared = floor.backend.sandbox(order.id)
    })
    after(async () => {
      delete process.env.GANTRY_TEST_CANARY
      await floor.arena?.[Symbol.asyncDispose]()
    })
    test = sampled(oneIn)
    lives(floor)
    failures(floor)
    commands(floor)
    environments(floor)
    ends(floor)
    terminals(floor)
    ports(floor)
    walls(floor)
    narrowing(floor)
  })
}

type Step = 'start' | 'pause' | 'resume' | 'stop' | 'remove'

/** Where a step leads from a state. */
const LIFE: Record<State, Record<Step, State>> = {
  absent: { start: 'running', pause: 'absent', resume: 'absent', stop: 'absent', remove: 'absent' },
  stopped: { start: 'running', pause: 'stopped', resume: 'stopped', stop: 'stopped', remove: 'absent' },
  running: { start: 'running', pause: 'paused', resume: 'running', stop: 'stopped', remove: 'absent' },
  paused: { start: 'running', pause: 'paused', resume: 'running', stop: 'stopped', remove: 'absent' },
}

const WAY_TO: Record<State, Step[]> = {
  absent: [],
  stopped: ['start', 'stop'],
  running: ['start'],
  paused: ['start', 'pause'],
}

function lives(floor: Floor): void {
  const take = (step: Step, order: Order): Promise<void> =>
    step === 'start' ? floor.backend.start(order) : floor.backend[step](order.id)

  for (const [from, steps] of Object.entries(LIFE) as [State, Record<Step, State>][])
    for (const [step, to] of Object.entries(steps) as [Step, State][]) {
      test(`${step} of what is ${from} leads to ${to}, however often and at once, and leaves no dead end`, async () => {
        const { backend } = floor
        const order = floor.order()
        for (const before of WAY_TO[from]) await take(before, order)
        assert.equal(await floor.state(order.id), from)
        await take(step, order)
        assert.equal(await floor.state(order.id), to)
        await take(step, order)
        await Promise.all([take(step, order), take(step, order), take(step, order)])
        assert.equal(await floor.state(order.id), to)
        assert.equal((await backend.list()).includes(order.id), to !== 'absent')
        await backend.start(order)
        assert.equal(await output(backend.sandbox(order.id), ['echo', 'alive']), 'alive\n')
        await backend.remove(order.id)
        assert.equal(await floor.state(order.id), 'absent')
      })
    }

  test('looking, listing, logs and usage are answered in every state, as often as one likes', async () => {
    const { backend } = floor
    for (const [state, way] of Object.entries(WAY_TO) as [State, Step[]][]) {
      const order = floor.order()
      for (const step of way) await take(step, order)
      const ask = async () => {
        const usage = await backend.usage(order.id)
        assert.ok(
          Object.values(usage).every(number => Number.isFinite(number) && number >= 0),
          JSON.stringify(usage),
        )
        assert.equal(typeof (await backend.logs(order.id)), 'string')
        assert.deepEqual(await backend.look(order.id), { state })
        assert.equal((await backend.list()).includes(order.id), state !== 'absent')
        if (state === 'absent' || state === 'stopped') assert.equal(usage.processes, 0)
      }
      await ask()
      await Promise.all([ask(), ask(), ask()])
      await backend.remove(order.id)
    }
  })

  test('steps that cross each other leave something that can be started, and then removed', async () => {
    const { backend } = floor
    const order = floor.order()
    const steps: Step[] = ['start', 'pause', 'stop', 'start', 'resume', 'remove', 'start', 'pause', 'stop', 'resume']
    const results = await Promise.allSettled(steps.map(step => take(step, order)))
    for (const result of results)
      if (result.status === 'rejected') assert.ok(result.reason instanceof Fault, `${result.reason}`)
    await backend.start(order)
    assert.equal(await output(backend.sandbox(order.id), ['echo', 'alive']), 'alive\n')
    await Promise.all([backend.remove(order.id), backend.remove(order.id)])
    assert.equal(await floor.state(order.id), 'absent')
  })

  test('files outlive a stop; processes do not', async () => {
    await using own = await floor.started()
    const left = await output(own.box, 'echo one >file; echo two >~/file; sleep 300 >/dev/null 2>&1 & echo $!')
    await floor.backend.stop(own.id)
    await floor.isShut(own.id, own.box)
    await floor.backend.start(own.order)
    const again = floor.backend.sandbox(own.id)
    assert.equal(await output(again, 'cat file ~/file'), 'one\ntwo\n')
    assert.equal(again.workingDir, own.box.workingDir)
    const script = 'tr "\\0" " " </proc/$1/cmdline | grep -c "^sleep 300"'
    assert.equal(said(await outcome(again, sh(`${script} 2>/dev/null || :`, left.trim()))).trim() || '0', '0')
  })

  test('what is removed leaves nothing: it is not listed, and its files are not there when it is made again', async () => {
    const { backend } = floor
    await using own = await floor.started()
    await output(own.box, 'echo one >file; echo two >~/file')
    await backend.remove(own.id)
    assert.ok(!(await backend.list()).includes(own.id))
    await floor.isShut(own.id, own.box)
    await backend.start(own.order)
    assert.equal(await output(backend.sandbox(own.id), 'cat file ~/file 2>/dev/null; ls -A'), '')
  })

  test('what a server that died left is listed, started over its files, and removed by the next', async () => {
    const { backend } = floor
    await using own = await floor.started()
    await output(own.box, 'echo one >file')
    const next = await floor.arena.reopen()
    assert.ok((await next.list()).includes(own.id))
    assert.notEqual((await next.look(own.id)).state, 'absent')
    await next.start(own.order)
    assert.equal(await output(next.sandbox(own.id), 'cat file'), 'one\n')
    await next.remove(own.id)
    assert.ok(!(await backend.list()).includes(own.id))
    await next.close()
  })

  test('a pause freezes what runs and keeps its memory; it goes on where it was', async () => {
    await using own = await floor.started()
    const { process, listener } = await begun(own.box, 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done')
    const ticks = () => listener.text.split('\n').slice(0, -1).map(Number)
    await listener.hears('\n5\n')
    await floor.backend.pause(own.id)
    let seen = -1
    await until('what was on the way has come', async () => {
      const before = seen
      seen = ticks().length
      await new Promise(resolve => setTimeout(resolve, 50))
      return before === seen
    })
    await new Promise(resolve => setTimeout(resolve, NOTHING_MS))
    assert.equal(ticks().length, seen, 'it went on while it was paused')
    await floor.backend.resume(own.id)
    await until('it goes on', () => ticks().length > seen + 5)
    assert.deepEqual(
      ticks(),
      ticks().map((_, i) => i + 1),
    )
    await process.signal('SIGKILL')
    assert.equal((await promptly('the end', process.exit)).code, 137)
  })

  test('nothing is executed in what is paused, stopped or absent: `sandbox_unavailable`', async () => {
    const { backend } = floor
    await using own = await floor.started()
    await backend.pause(own.id)
    await floor.isShut(own.id, own.box)
    await backend.resume(own.id)
    assert.equal(await output(own.box, ['echo', 'again']), 'again\n')
    await backend.stop(own.id)
    await floor.isShut(own.id, own.box)
    await backend.remove(own.id)
    await floor.isShut(own.id, own.box)
    await assert.rejects(async () => backend.sandbox(newId()).exec(command(['true'])), is('sandbox_unavailable'))
  })

  test('two sandboxes have files of their own, and one that goes leaves the other alone', async () => {
    await using other = await floor.started()
    {
      await using own = await floor.started()
      await output(own.box, 'echo mine >file')
      await output(other.box, 'echo theirs >file')
      assert.equal(await output(own.box, 'cat file'), 'mine\n')
    }
    assert.equal(await output(other.box, 'cat file'), 'theirs\n')
  })

  test('usage counts the processes, and what is stored', async () => {
    await using own = await floor.started()
    const before = await floor.backend.usage(own.id)
    const { process } = await begun(own.box, 'head -c 8000000 /dev/urandom >file; sleep 300 & sleep 300 & wait')
    await until('two more are counted', async () => {
      const { processes, diskBytes, memoryBytes } = await floor.backend.usage(own.id)
      return processes >= before.processes + 3 && diskBytes >= before.diskBytes + 7 * MB && memoryBytes > 0
    })
    await process.signal('SIGKILL')
    await until('they are gone', async () => (await floor.backend.usage(own.id)).processes <= before.processes)
  })

  test('isolation is tried out, and told in one line', async () => {
    const proof = await floor.backend.prove()
    assert.equal(proof.isolated, floor.arena.capabilities.isolated, proof.summary)
    assert.match(proof.summary, /^[^\n]+$/)
  })
}

/** It may have been killed a moment before its sandbox was gone. */
const isLost = ({ code, reason }: Exit) => assert.ok(reason === 'lost' || code >= 128, `${code} ${reason}`)

function failures(floor: Floor): void {
  async function failing(more: Partial<Order>, ...reasons: RegExp[]): Promise<void> {
    const { backend } = floor
    const order = floor.order(more)
    const usual = await tookMs(async () => backend.remove((await floor.started()).id))
    const took = await tookMs(() =>
      assert.rejects(backend.start(order), error => {
        assert.ok(is('sandbox_failed')(error), `${error}`)
        for (const reason of reasons) assert.match((error as Fault).message, reason)
        return true
      }),
    )
    assert.ok(took < usual + 1_500, `it took ${took} ms to say so, where a start takes ${usual}`)
    assert.notEqual(await floor.state(order.id), 'running')
    await backend.remove(order.id)
    assert.ok(!(await backend.list()).includes(order.id))
  }

  test('a working directory that cannot be made fails the start at once', async () => {
    const folder = await tempFolder()
    await chmod(folder, 0o777)
    await writeFile(join(folder, 'file'), '')
    const grants = [{ path: folder, readOnly: false }]
    await failing({ grants, workingDir: join(folder, 'file/below') }, /working directory/)
    await rm(folder, { recursive: true })
  })

  test('a command that is not there fails the start at once, saying which', async t => {
    if (floor.lacks(t, 'command')) return
    await failing({ command: ['/no/such/program'] }, /\/no\/such\/program/)
  })

  test('a command that fails, fails the start at once with its exit code and its last lines', async t => {
    if (floor.lacks(t, 'command')) return
    await failing({ command: sh('echo first; echo last words >&2; exit 127') }, /127/, /last words/)
  })

  test('what failed to start starts when the order is put right', async t => {
    if (floor.lacks(t, 'command')) return
    const order = floor.order({ command: sh('exit 3') })
    await assert.rejects(floor.backend.start(order), is('sandbox_failed'))
    await floor.backend.start({ ...order, command: undefined })
    assert.equal(await output(floor.backend.sandbox(order.id), ['echo', 'alive']), 'alive\n')
    await floor.backend.remove(order.id)
  })

  test('a command runs from the start in the working directory, and what it prints is in the logs', async t => {
    if (floor.lacks(t, 'command')) return
    const script = 'echo "$ORDERED in $(pwd)"; echo up >up; while :; do sleep 1; done'
    await using own = await floor.started({ command: sh(script), env: { ORDERED: 'here' } })
    await until('it is up', async () => (await outcome(own.box, ['cat', 'up'])).code === 0)
    assert.match(await floor.backend.logs(own.id), new RegExp(`here in ${own.box.workingDir}\n`))
  })

  test('what ends by itself later is seen as stopped, with the reason', async t => {
    if (floor.lacks(t, 'command')) return
    await using own = await floor.started({ command: sh('until [ -e go ]; do sleep 0.02; done; echo bye; exit 9') })
    const { process } = await begun(own.box, ['sleep', '300'])
    await outcome(own.box, 'touch go')
    const sight = await until('it has stopped', async () => {
      const seen = await floor.backend.look(own.id)
      return seen.state === 'stopped' ? seen : undefined
    })
    assert.match(sight.failure ?? '', /9[\s\S]*bye/)
    isLost(await promptly('the end of what ran in it', process.exit))
    await floor.isShut(own.id, own.box)
  })

  for (const step of ['stop', 'remove'] as const)
    test(`a command whose sandbox goes (${step}) ends too, and never hangs`, async () => {
      await using own = await floor.started()
      const { process, listener } = await begun(own.box, 'echo ready; sleep 300', { stdin: true })
      await listener.hears('ready')
      await floor.backend[step](own.id)
      isLost(await promptly('the end', process.exit))
      await promptly('a signal to nobody', process.signal('SIGTERM'))
    })

  test('a command whose sandbox is stopped while it is paused ends too', async () => {
    await using own = await floor.started()
    const { process, listener } = await begun(own.box, 'echo ready; sleep 300')
    await listener.hears('ready')
    await floor.backend.pause(own.id)
    await floor.backend.stop(own.id)
    await promptly('the end', process.exit)
  })
}

function commands(floor: Floor): void {
  test('arguments arrive as they are', async () => {
    const odd = [
      '',
      ' ',
      'a b',
      "it's",
      '"',
      '\\',
      '$HOME',
      '`id`',
      '*',
      '~',
      'a\nb',
      '\t',
      'ä漢🙂',
      '-n',
      '--',
      '-',
      '!x',
      ';',
      '\x1b[0m',
      'x'.repeat(100_000),
    ]
    const out = await output(floor.shared, ['printf', '%s\\0', ...odd])
    assert.deepEqual(out.split('\0').slice(0, -1), odd)
  })

  test('the program is a program: not a function of some shell, not a line for one', async () => {
    assert.equal((await outcome(floor.shared, ['exit'])).code, 127)
    assert.equal((await outcome(floor.shared, ['true; echo'])).code, 127)
    assert.equal((await outcome(floor.shared, ['echo hi'])).code, 127)
  })

  test('a NUL character, or a strange name of a variable, is refused as a bad request', async () => {
    const nul = 'a\0b'
    const bad: Command[] = [
      { argv: ['echo', nul] },
      { argv: ['pwd'], cwd: `/${nul}` },
      { argv: ['env'], env: { A: nul } },
      { argv: ['env'], env: { 'A B': 'x' } },
      { argv: ['env'], env: { 'A=B': 'x' } },
      { argv: ['env'], env: { '': 'x' } },
    ]
    for (const one of bad)
      await assert.rejects(async () => floor.shared.exec(one), is('bad_request'), JSON.stringify(one))
  })

  test('it starts in the working directory, or where it is told', async () => {
    const box = floor.shared
    assert.equal(await output(box, ['pwd']), `${box.workingDir}\n`)
    assert.equal(await output(box, ['pwd'], { cwd: '/' }), '/\n')
    const odd = `${await floor.folder()}/-a 'b" $c\nd`
    await output(box, ['mkdir', '--', odd])
    assert.equal(await output(box, ['pwd'], { cwd: odd }), `${odd}\n`)
    await output(box, ['touch', 'seen'], { cwd: box.home })
    await output(box, 'test -e ~/seen')
  })

  test('a directory that is not there is 126, and a message that names it', async () => {
    const ended = await outcome(floor.shared, ['echo', 'ran'], { cwd: '/no/such/place' })
    assert.equal(ended.code, 126)
    assert.match(ended.stderr.toString(), /\/no\/such\/place/)
    assert.equal(said(ended), '')
    assert.equal((await outcome(floor.shared, ['true'], { cwd: '/etc/passwd' })).code, 126)
  })

  test('what is missing is 127, what cannot be executed 126', async () => {
    const missing = await outcome(floor.shared, ['no-such-program'])
    assert.deepEqual([missing.code, missing.reason], [127, 'exited'])
    assert.match(missing.stderr.toString(), /no-such-program/)
    assert.equal((await outcome(floor.shared, ['/no/such/program'])).code, 127)
    assert.equal((await outcome(floor.shared, ['/'])).code, 126)
    const cwd = await floor.folder()
    await output(floor.shared, 'echo x >plain', { cwd })
    assert.equal((await outcome(floor.shared, ['./plain'], { cwd })).code, 126)
  })

  test('the exit code is the command’s own', async () => {
    const all = Array.from({ length: 256 }, (_, code) => code)
    const some = [0, 1, 2, 3, 64, 125, 126, 127, 128, 129, 130, 137, 143, 192, 254, 255]
    for (const code of count({ sample: 0, deep: 1 }) ? all : some) {
      const ended = await outcome(floor.shared, sh('exit $1', `${code}`))
      assert.deepEqual([ended.code, ended.reason], [code, 'exited'])
    }
  })

  test('128 + n when signal n ended it', async () => {
    for (const name of ['HUP', 'INT', 'KILL', 'SEGV', 'PIPE', 'TERM', 'USR1']) {
      const ended = await outcome(floor.shared, sh('kill -s $1 $$', name))
      const number = constants.signals[`SIG${name}` as NodeJS.Signals]
      assert.deepEqual([ended.code, ended.reason, `${ended.stderr}`], [128 + number, 'exited', ''], name)
    }
  })

  test('20 MB go in and come out, byte by byte', async () => {
    const input = randomBytes(20 * MB)
    const ended = await outcome(floor.shared, ['cat'], { input })
    assert.equal(ended.code, 0)
    assert.ok(ended.stdout.equals(input), `${ended.stdout.length} came back, or others than went in`)
  })

  test('output and errors come apart, whole, both at once', async () => {
    const script = 'head -c 3000000 /dev/zero | tr "\\0" o & head -c 3000000 /dev/zero | tr "\\0" e >&2; wait'
    const { stdout, stderr, code } = await outcome(floor.shared, script)
    assert.equal(code, 0)
    assert.ok(stdout.equals(Buffer.alloc(3_000_000, 'o')), `${stdout.length} on stdout`)
    assert.ok(stderr.equals(Buffer.alloc(3_000_000, 'e')), `${stderr.length} on stderr`)
  })

  test('a reader that is slow holds it up; nothing is lost, nothing piles up', async () => {
    const process = await floor.shared.exec(command('head -c 8000000 /dev/zero; echo done >&2'))
    process.stderr.resume()
    await once(process.stdout, 'readable')
    await new Promise(resolve => setTimeout(resolve, NOTHING_MS))
    assert.ok(process.stdout.readableLength < 2 * MB, `${process.stdout.readableLength} bytes were taken in`)
    assert.equal((await buffer(process.stdout)).length, 8_000_000)
    assert.equal((await process.exit).code, 0)
  })

  test('standard input ends at once unless something will be written to it', async () => {
    assert.equal(await output(floor.shared, 'cat; echo end'), 'end\n')
    const process = await floor.shared.exec(command(['cat']))
    assert.equal(process.stdin, undefined)
    assert.equal((await promptly('the end', process.exit)).code, 0)
  })

  test('it talks while it runs', async () => {
    const { process, listener } = await begun(floor.shared, 'while read -r line; do echo "<$line>"; done', {
      stdin: true,
    })
    for (const word of ['one', 'two', 'three']) {
      listener.write(`${word}\n`)
      await listener.hears(`<${word}>`)
    }
    process.stdin!.end()
    assert.equal((await promptly('the end', process.exit)).code, 0)
  })

  test('input that nobody reads harms nothing', async () => {
    const ended = await outcome(floor.shared, 'exec <&-; exit 4', { input: randomBytes(3 * MB) })
    assert.equal(ended.code, 4)
  })

  test('many run at once', async () => {
    const numbers = Array.from({ length: 12 }, (_, i) => `${i}`)
    assert.deepEqual(
      await Promise.all(numbers.map(number => output(floor.shared, ['echo', number]))),
      numbers.map(number => `${number}\n`),
    )
  })

  test('what a command leaves in the background outlives it and does not hold it up', async () => {
    const process = await floor.shared.exec(command('sleep 300 & echo $!'))
    const listener = new Listener(process)
    assert.deepEqual(await promptly('the end', process.exit, 1_900), { code: 0, reason: 'exited' })
    await listener.hears('\n')
    await output(floor.shared, sh('kill -0 $1', listener.text.trim()))
    await output(floor.shared, sh('kill -9 $1', listener.text.trim()))
  })

  test('a command that has ended leaves no process behind', async () => {
    await using own = await floor.started()
    const before = (await floor.backend.usage(own.id)).processes
    await output(own.box, 'ls | cat')
    await outcome(own.box, 'exit 3', { pty: { columns: 80, rows: 24 } })
    await until('all are gone', async () => (await floor.backend.usage(own.id)).processes <= before)
  })
}

function environments(floor: Floor): void {
  async function environment(more: Partial<Command> = {}): Promise<Record<string, string>> {
    const text = await output(floor.shared, ['cat', '/proc/self/environ'], more)
    const pairs = text.split('\0').filter(Boolean)
    return Object.fromEntries(pairs.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
  }

  test('the environment is made of what was given, and nothing of the server', async () => {
    for (const pty of [undefined, { columns: 80, rows: 24 }]) {
      const found = await environment({ env: { GIVEN: 'for this one', BOTH: 'command' }, pty })
      const { GIVEN, ORDERED, BOTH, HOME, ...rest } = found
      assert.deepEqual([GIVEN, ORDERED, BOTH, HOME], ['for this one', 'by the order', 'command', floor.shared.home])
      assert.deepEqual(
        Object.keys(rest).filter(name => !OWN_VARIABLES.test(name)),
        pty ? Object.keys(rest).filter(name => name === 'SHELL') : [],
      )
      assert.ok(!JSON.stringify(found).includes(floor.canary))
    }
  })

  test('nothing of the server is found in any process inside', async t => {
    if (floor.lacks(t, 'isolated')) return
    const everything = await outcome(floor.shared, 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null')
    assert.ok(everything.stdout.length > 0 && !everything.stdout.includes(floor.canary))
  })

  test('values arrive as they are', async () => {
    const odd = {
      A: '',
      B: 'a b',
      C: `it's "so"`,
      D: 'a\nb\n',
      E: '$HOME `id` \\',
      F: 'ä漢🙂',
      G: '=x=',
      H: '-n',
      I: 'x'.repeat(50_000),
    }
    const found = await environment({ env: odd })
    assert.deepEqual(Object.fromEntries(Object.keys(odd).map(key => [key, found[key]])), odd)
  })

  test('a command is given no descriptor but its own three', async () => {
    const passedOn = await inherited()
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    const script = 'for fd in /proc/$$/fd/*; do [ ! -e "$fd" ] || echo "${fd##*/}"; done'
    for (const pty of [undefined, { columns: 80, rows: 24 }]) {
      const found = (await output(floor.shared, script, { pty })).trim().split(/\s+/)
      assert.deepEqual(
        found.filter(fd => !passedOn.includes(fd)),
        ['0', '1', '2'],
      )
    }
  })
}

/** The descriptors this process was started with and that all it starts get too: its own starter's doing. */
async function inherited(): Promise<string[]> {
  const fds = (await readdir('/proc/self/fdinfo')).filter(fd => Number(fd) > 2)
  const kept = await Promise.all(
    fds.map(async fd => {
      const info = await readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => '')
      const flags = Number.parseInt(/^flags:\s+(\d+)/m.exec(info)?.[1] ?? '02000000', 8)
      return (flags & CLOSED_ON_EXEC) === 0
    }),
  )
  return fds.filter((_, i) => kept[i])
}

function ends(floor: Floor): void {
  async function fallen(cwd: string, exit: Exit, reason: Exit['reason']): Promise<void> {
    assert.equal(exit.reason, reason)
    assert.ok(exit.code >= 128, `${exit.code}`)
    await until(`all have ended`, async () => (await living(floor.shared, cwd)).length === 0, 3_000).catch(async () =>
      assert.deepEqual(await living(floor.shared, cwd), []),
    )
  }

  test('a timeout ends it with all it started', async () => {
    const cwd = await floor.folder()
    const { process, listener } = await begun(floor.shared, TREE, { cwd, timeoutMs: 1_500 })
    await listener.hears('ready')
    await fallen(cwd, await promptly('the end', process.exit), 'timeout')
  })

  test('an abort ends it with all it started', async () => {
    const cwd = await floor.folder()
    const abort = new AbortController()
    const { process, listener } = await begun(floor.shared, TREE, { cwd, signal: abort.signal })
    await listener.hears('ready')
    abort.abort()
    await fallen(cwd, await promptly('the end', process.exit), 'aborted')
  })

  test('SIGKILL to it is SIGKILL to all it started', async () => {
    const cwd = await floor.folder()
    const { process, listener } = await begun(floor.shared, TREE, { cwd })
    await listener.hears('ready')
    await process.signal('SIGKILL')
    await fallen(cwd, await promptly('the end', process.exit), 'exited')
  })

  test('a command that ends politely in time keeps its own exit code', async () => {
    const script = 'trap "exit 5" TERM; echo ready; while :; do sleep 0.02; done'
    const abort = new AbortController()
    const { process, listener } = await begun(floor.shared, script, { signal: abort.signal })
    await listener.hears('ready')
    abort.abort()
    const exit = await promptly('the end', process.exit)
    assert.deepEqual(exit, { code: 5, reason: 'aborted' })
  })

  test('an abort at any moment of the start ends it', async () => {
    const cwd = await floor.folder()
    for (const ms of [0, 1, 3, 10, 30, 60]) {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), ms)
      const exit = await floor.shared
        .exec(command('sleep 4; touch survived', { cwd, signal: abort.signal }))
        .then(({ exit }) => promptly(`the end after ${ms} ms`, exit))
        .catch(error => assert.equal(error.name, 'AbortError'))
      if (exit) assert.equal(exit.reason, 'aborted', `${ms} ms`)
    }
    const left = 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -c "touch surviv[e]d$" || :'
    await until('none is left', async () => (await output(floor.shared, left)) === '0\n')
    assert.equal((await outcome(floor.shared, ['test', '-e', 'survived'], { cwd })).code, 1)
  })

  test('one that is aborted already never runs', async () => {
    const cwd = await floor.folder()
    const signal = AbortSignal.abort()
    await assert.rejects(
      async () => floor.shared.exec(command(['touch', 'ran'], { cwd, signal })),
      error => error === signal.reason,
    )
    assert.equal(await output(floor.shared, ['ls', '-A'], { cwd }), '')
  })

  test('an abort or a timeout after the end changes nothing', async () => {
    const abort = new AbortController()
    const process = await floor.shared.exec(command('exit 3', { signal: abort.signal, timeoutMs: 60_000 }))
    const exit = await process.exit
    abort.abort()
    await process.signal('SIGTERM')
    assert.deepEqual([exit, await process.exit], Array(2).fill({ code: 3, reason: 'exited' }))
  })

  test('an abort ends what a command left in the background as long as the command runs, and no other command', async () => {
    const bystander = await begun(floor.shared, 'echo ready; sleep 300')
    await bystander.listener.hears('ready')
    const abort = new AbortController()
    const { process, listener } = await begun(floor.shared, 'sleep 300 & echo $!; wait', { signal: abort.signal })
    await listener.hears('\n')
    abort.abort()
    await promptly('the end', process.exit)
    await until(
      'it has ended',
      async () => (await outcome(floor.shared, sh('kill -0 $1', listener.text.trim()))).code !== 0,
    )
    const still = await Promise.race([bystander.process.exit, 'runs'])
    assert.equal(still, 'runs')
    await bystander.process.signal('SIGKILL')
    await promptly('the end of the bystander', bystander.process.exit)
  })

  test('a signal reaches it and all it started', async () => {
    const cwd = await floor.folder()
    const wait = 'while :; do sleep 0.02; done'
    const script = `trap 'echo parent' USR1; setsid sh -c 'trap "echo child" USR1; echo ready; ${wait}' & ${wait}`
    const { process, listener } = await begun(floor.shared, script, { cwd })
    await listener.hears('ready')
    await process.signal('SIGUSR1')
    await listener.hears('parent')
    await listener.hears('child')
    await process.signal('SIGKILL')
    await promptly('the end', process.exit)
  })

  test('a timeout that passes during a pause is kept after it', async () => {
    await using own = await floor.started()
    const { process, listener } = await begun(own.box, 'echo ready; sleep 300', { timeoutMs: 400 })
    await listener.hears('ready')
    await floor.backend.pause(own.id)
    await new Promise(resolve => setTimeout(resolve, 1_800))
    await floor.backend.resume(own.id)
    assert.equal((await promptly('the end', process.exit)).reason, 'timeout')
  })
}

function terminals(floor: Floor): void {
  const pty = { columns: 101, rows: 33 }

  test('a terminal is one, and has its size from the first moment', async () => {
    const ended = await outcome(floor.shared, 'test -t 0 && test -t 1 && test -t 2 && stty size', { pty })
    assert.deepEqual([ended.code, said(ended).trim(), `${ended.stderr}`], [0, '33 101', ''])
  })

  test('a new size is seen inside, and told by SIGWINCH', async () => {
    const script = 'trap "stty size" WINCH; echo ready; while :; do sleep 0.02; done'
    const { process, listener } = await begun(floor.shared, script, { pty })
    await listener.hears('ready')
    await process.resize({ columns: 77, rows: 22 })
    await listener.hears('22 77')
    await process.resize({ columns: 140, rows: 50 })
    await listener.hears('50 140')
    await process.signal('SIGKILL')
    await promptly('the end', process.exit)
    await promptly('a size for nobody', process.resize({ columns: 80, rows: 24 }))
  })

  test('Ctrl-C interrupts what runs in it', async () => {
    const script = 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.02; done'
    const { process, listener } = await begun(floor.shared, script, { pty })
    await listener.hears('ready')
    listener.write('\x03')
    await listener.hears('caught')
    assert.deepEqual(await promptly('the end', process.exit), { code: 7, reason: 'exited' })
    const plain = await begun(floor.shared, 'echo ready; exec sleep 300', { pty })
    await plain.listener.hears('ready')
    plain.listener.write('\x03')
    assert.deepEqual(await promptly('the end', plain.process.exit), { code: 130, reason: 'exited' })
  })

  test('it echoes, Ctrl-D ends the input, and lines end as on a terminal', async () => {
    const { process, listener } = await begun(floor.shared, ['cat'], { pty })
    listener.write('hello\n')
    await listener.hears('hello\r\nhello\r\n')
    listener.write('\x04')
    assert.equal((await promptly('the end', process.exit)).code, 0)
  })

  test('every key arrives as soon as it is pressed', async () => {
    const { process, listener } = await begun(
      floor.shared,
      'stty raw -echo; echo ready; while :; do head -c 1 | od -An -tx1; done',
      { pty },
    )
    await listener.hears('ready')
    for (const key of ['10', '11', '1b', '00', '7f', '04', '03', '1a', '1c']) {
      listener.write(String.fromCharCode(Number.parseInt(key, 16)))
      await listener.hears(new RegExp(`${key}\\s+$`))
    }
    await process.signal('SIGKILL')
    await promptly('the end', process.exit)
  })

  test('a shell at a terminal is a shell as a person knows it: prompts, jobs, exit code', async () => {
    const { process, listener } = await begun(floor.shared, ['sh', '-i'], { pty })
    listener.write("PS1='as''k> '\n")
    await listener.hears('ask> ')
    listener.write('sh -c "echo begun; exec sleep 300"\n')
    await listener.hears(/\nbegun/)
    listener.write('\x03')
    await listener.hears(/\nbegun[\s\S]*ask> /)
    listener.write('echo $((6*7))\n')
    await listener.hears('42')
    listener.write('exit 6\n')
    assert.deepEqual(await promptly('the end', process.exit), { code: 6, reason: 'exited' })
  })

  test('the exit code, 126, 127 and 128 + n are as without a terminal', async () => {
    assert.equal((await outcome(floor.shared, 'exit 42', { pty })).code, 42)
    assert.equal((await outcome(floor.shared, ['no-such-program'], { pty })).code, 127)
    assert.equal((await outcome(floor.shared, 'kill -9 $$', { pty })).code, 137)
    const lost = await outcome(floor.shared, ['true'], { pty, cwd: '/no/such/place' })
    assert.equal(lost.code, 126)
    assert.match(`${lost.stdout}${lost.stderr}`, /\/no\/such\/place/)
  })

  test('an abort ends what runs in it, with all it started', async () => {
    const cwd = await floor.folder()
    const abort = new AbortController()
    const { process, listener } = await begun(floor.shared, TREE, { cwd, pty, signal: abort.signal })
    await listener.hears('ready')
    abort.abort()
    assert.equal((await promptly('the end', process.exit)).reason, 'aborted')
    await until('all have ended', async () => (await living(floor.shared, cwd)).length === 0, 3_000)
  })

  test('much output comes whole', async () => {
    const out = said(await outcome(floor.shared, 'i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done', { pty }))
    assert.equal(out, Array.from({ length: 20_000 }, (_, i) => `${i}\r\n`).join(''))
  })
}

function ports(floor: Floor): void {
  test('a port that is listened on inside is reached, byte by byte both ways', async t => {
    const port = await freePort()
    if ((await outcome(floor.shared, 'command -v perl || command -v busybox')).code !== 0)
      return t.skip('neither perl nor busybox is there to listen on a port')
    const { process } = await begun(floor.shared, sh(ECHO_SERVER, `${port}`))
    const socket = await until('it listens', async () => {
      const dialled = await floor.shared.connect(port).catch(error => error)
      assert.ok(dialled instanceof Duplex || is('port_closed')(dialled), `${dialled}`)
      return dialled instanceof Duplex ? dialled : undefined
    })
    const sent = randomBytes(MB)
    socket.write(sent)
    socket.end()
    assert.ok((await buffer(socket)).equals(sent))
    const [one, two] = await Promise.all([floor.shared.connect(port), floor.shared.connect(port)])
    one.write('one')
    two.write('two')
    assert.deepEqual([`${await once(one, 'data')}`, `${await once(two, 'data')}`], ['one', 'two'])
    one.destroy()
    two.destroy()
    await process.signal('SIGKILL')
    await process.exit
  })

  test('a port nobody listens on is told as closed', async () => {
    await assert.rejects(floor.shared.connect(await freePort()), is('port_closed'))
  })
}

function walls(floor: Floor): void {
  test('a granted folder is inside at its own path; what is made there is there outside', async t => {
    const folder = await tempFolder()
    await chmod(folder, 0o777)
    const closed = await tempFolder()
    await chmod(closed, 0o777)
    await writeFile(join(closed, 'given'), 'given')
    t.after(() => Promise.all([folder, closed].map(path => rm(path, { recursive: true, force: true }))))
    const grants = [
      { path: folder, readOnly: false },
      { path: closed, readOnly: true },
    ]
    await using own = await floor.started({ workingDir: join(folder, 'sub'), grants })
    assert.equal(await output(own.box, 'pwd; echo made >made'), `${folder}/sub\n`)
    assert.equal(await readFile(join(folder, 'sub/made'), 'utf8'), 'made\n')
    assert.equal(await output(own.box, ['cat', join(closed, 'given')]), 'given')
    if (floor.arena.capabilities.isolated) {
      assert.notEqual((await outcome(own.box, ['touch', join(closed, 'made')])).code, 0)
      const hidden = await tempFolder()
      assert.notEqual((await outcome(own.box, ['test', '-e', hidden])).code, 0)
      await rm(hidden, { recursive: true })
    }
    await floor.backend.remove(own.id)
    assert.equal(await readFile(join(folder, 'sub/made'), 'utf8'), 'made\n')
  })

  test('processes are limited; the sandbox is of use again when they are gone', async t => {
    if (floor.lacks(t, 'limits')) return
    await using own = await floor.started({ limits: { ...LIMITS, processes: 40 } })
    const bomb =
      'mkfifo fifo; (while :; do sleep 300 & done) & (while :; do sleep 300 & done) & while :; do read -r line <fifo; done'
    const ended = outcome(own.box, bomb, { timeoutMs: 1_500 })
    await until('it is full', async () => (await floor.backend.usage(own.id)).processes >= 30)
    assert.ok((await floor.backend.usage(own.id)).processes <= 42)
    await promptly('the end', ended, 8_000)
    assert.equal(await until('it works again', () => output(own.box, ['echo', 'alive']).catch(() => '')), 'alive\n')
  })

  test('a full sandbox can be stopped and started', async t => {
    if (floor.lacks(t, 'limits')) return
    await using own = await floor.started({ limits: { ...LIMITS, processes: 40 } })
    await begun(own.box, 'i=0; while [ $i -lt 100 ]; do sleep 300 & i=$((i+1)); done; wait')
    await until('it is full', async () => (await floor.backend.usage(own.id)).processes >= 35)
    await floor.backend.stop(own.id)
    await floor.backend.start(own.order)
    assert.equal(await output(floor.backend.sandbox(own.id), ['echo', 'alive']), 'alive\n')
  })

  test('memory is limited: what takes too much is killed, and the sandbox lives', async t => {
    if (floor.lacks(t, 'limits')) return
    await using own = await floor.started({ limits: { ...LIMITS, memoryBytes: 64 * MB } })
    const { process: bystander, listener } = await begun(own.box, 'echo ready; sleep 300')
    await listener.hears('ready')
    const ended = await outcome(own.box, 'head -c 400000000 /dev/zero | tail -n 1 | wc -c; exit 0')
    assert.ok(Number(said(ended)) < 400_000_000, 'nobody stopped it')
    assert.equal((await outcome(own.box, 'head -c 400000000 /dev/zero | tail -n 1 >/dev/null')).code, 137)
    assert.equal(await output(own.box, ['echo', 'alive']), 'alive\n')
    assert.equal(await Promise.race([bystander.exit, 'runs']), 'runs')
  })
}

/** What the proxy answers to a request for a host, under the user name that its URL has. */
async function asked(box: Sandbox, proxy: string, target: string): Promise<string> {
  const { port, username, password } = new URL(proxy)
  const login = username && `Proxy-Authorization: Basic ${btoa(`${username}:${password}`)}\r\n`
  const socket = await box.connect(Number(port))
  try {
    const answer = once(socket, 'data')
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${login}\r\n`)
    return String((await answer)[0]).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
  } finally {
    socket.destroy()
  }
}

function narrowing(floor: Floor): void {
  /** A command that runs until it is killed, and the proxy it was told of. */
  async function running(box: Sandbox, more: Partial<Command>) {
    const { process, listener } = await begun(box, 'echo "$http_proxy."; while :; do sleep 300; done', more)
    await listener.hears('.\n')
    return { process, proxy: listener.text.trim().slice(0, -1) }
  }

  const kill = async (process: Process) => {
    await process.signal('SIGKILL')
    await process.exit
  }

  /** A sandbox that may reach `one` and `two`, which are this machine, and neither `three` nor anything else. */
  async function between(t: TestContext) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as { port: number }
    const [one, two, three] = ['one', 'two', 'three'].map(name => `${name}.localhost:${port}`) as [
      string,
      string,
      string,
    ]
    const own = await floor.started({ egress: { mode: 'hosts', hosts: [one, two] } })
    return { own, box: own.box, one, two, three, [Symbol.asyncDispose]: own[Symbol.asyncDispose] }
  }

  const hosts = (...names: string[]): Egress => ({ mode: 'hosts', hosts: names })

  test('where nothing holds a command to its own policy, it is refused', async t => {
    if (floor.arena.refusals) return t.skip(`${floor.name} holds it`)
    for (const egress of [{ mode: 'none' } as const, hosts('one.example')])
      await assert.rejects(floor.shared.exec(command(['true'], { egress })), is('egress_unsupported'))
    assert.equal(await output(floor.shared, ['echo', 'ran'], { egress: { mode: 'open', hosts: [] } }), 'ran\n')
  })

  test('a command reaches what both the sandbox and its own policy allow; others beside it are as they were', async t => {
    const { refusals } = floor.arena
    if (!refusals) return t.skip(`${floor.name} cannot narrow a network`)
    await using place = await between(t)
    const { box, one, two, three } = place
    const table: [Egress | undefined, string][] = [
      [undefined, '200 200 403'],
      [{ mode: 'none' }, '403 403 403'],
      [hosts(one), '200 403 403'],
      // It cannot widen: neither by what it lists, nor by what it leaves open.
      [hosts(two, three), '403 200 403'],
      [{ mode: 'open', hosts: [] }, '403 403 403'],
      [{ mode: 'open', hosts: [one] }, '200 403 403'],
    ]
    const commands = await Promise.all(
      table.map(([egress], index) => running(box, { label: `command ${index}`, ...(egress && { egress }) })),
    )
    for (const [index, { proxy }] of commands.entries()) {
      refusals.length = 0
      const answers = [await asked(box, proxy, one), await asked(box, proxy, two), await asked(box, proxy, three)]
      assert.equal(answers.join(' '), table[index]![1], `${index}`)
      assert.deepEqual([...new Set(refusals.map(refusal => refusal.command))], [`command ${index}`])
    }
    await Promise.all(commands.map(({ process }) => kill(process)))
  })

  test('without its name, or with another, a request gets no more than every policy in force allows', async t => {
    if (!floor.arena.refusals) return t.skip(`${floor.name} cannot narrow a network`)
    await using place = await between(t)
    const { box, one, two } = place
    const wide = await running(box, {})
    const narrow = await running(box, { egress: hosts(one) })
    const { port, username } = new URL(narrow.proxy)
    assert.notEqual(username, new URL(wide.proxy).username)
    assert.ok(username.length >= 32)
    const nameless = ['', ':x@', '1:x@', `${username.slice(0, -1)}:x@`, `${username}0:x@`].map(
      login => `http://${login}127.0.0.1:${port}`,
    )
    const answers = async (target: string) =>
      [...new Set(await Promise.all(nameless.map(proxy => asked(box, proxy, target))))].join(' ')
    assert.deepEqual([await answers(one), await answers(two)], ['200', '403'])
    assert.equal(await asked(box, wide.proxy, two), '200')
    await kill(narrow.process)
    await until('its policy is forgotten', async () => (await answers(two)) === '200')
  })

  test('a policy holds as long as anything runs that its command started', async t => {
    if (!floor.arena.refusals) return t.skip(`${floor.name} cannot narrow a network`)
    await using place = await between(t)
    const { box, one } = place
    const script = 'setsid sh -c "exec sleep 300" >/dev/null 2>&1 & echo $! "$http_proxy"'
    const [pid, proxy] = (await output(box, script, { egress: { mode: 'none' } })).trim().split(' ') as [string, string]
    await new Promise(resolve => setTimeout(resolve, NOTHING_MS))
    const { port } = new URL(proxy)
    for (const way of [proxy, `http://127.0.0.1:${port}`]) assert.equal(await asked(box, way, one), '403')
    await output(box, ['kill', '-9', pid])
    await until('it is forgotten', async () => (await asked(box, `http://127.0.0.1:${port}`, one)) === '200')
  })

  test('what a narrowed command left is ended by the next server, which does not know its policy', async t => {
    if (!floor.arena.refusals) return t.skip(`${floor.name} cannot narrow a network`)
    await using place = await between(t)
    const { box, own } = place
    const left = async (more: Partial<Command>) =>
      (await output(box, 'setsid sh -c "exec sleep 300" >/dev/null 2>&1 & echo $!', more)).trim()
    const narrowed = await left({ egress: { mode: 'none' } })
    const other = await left({})
    const next = await floor.arena.reopen()
    t.after(() => next.close())
    await next.start(own.order)
    const found = await outcome(
      next.sandbox(own.id),
      sh('for pid; do kill -0 $pid && echo $pid; done; exit 0', narrowed, other),
    )
    assert.equal(said(found).trim(), other)
  })
}
