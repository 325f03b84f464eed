import { type Duplex, Writable } from 'node:stream'
import { fault } from '../../api/errors.ts'
import { KILL_AFTER_MS } from '../local/child.ts'
import { signalMarked } from '../local/tree.ts'
import type { Command, Exit, Process, Size } from '../sandbox.ts'
import { answered, type Engine } from './engine.ts'
import { ABOVE, SIGNAL } from './script.ts'
import { type Streams, split, wordsIn } from './streams.ts'

/** A container a command runs in. */
export interface Place {
  engine: Engine
  container: string
  /** `uid:gid` */
  user: string
}

/** With all that the port leaves open filled in. */
export interface Launch extends Command {
  cwd: string
  env: Readonly<Record<string, string>>
}

/**
 * An engine reads a terminal's input for these keys and holds the first of them back until the next one is pressed. None can be
 * had, so they begin with the one that is missed least.
 */
const DETACH_KEYS = Array(8).fill('ctrl-^').join(',')

/** An engine closes the streams of a command before it knows its exit code. */
const SETTLE_MS = 20
const SETTLE_TRIES = 100

const KILLED = 137

/** A command in a container, from its start to its end. */
export class Execution implements Process {
  readonly stdin: Writable | undefined
  readonly stdout: Streams['stdout']
  readonly stderr: Streams['stderr']
  readonly exit: Promise<Exit>
  readonly #place: Place
  readonly #id: string
  readonly #mark: string
  readonly #begun = Promise.withResolvers<void>()
  /** Undefined when it ended without having told. */
  readonly #code = Promise.withResolvers<number | undefined>()
  #above = 0
  #reason: Exit['reason'] = 'exited'

  private constructor(place: Place, id: string, mark: string, connection: Duplex, command: Launch) {
    this.#place = place
    this.#id = id
    this.#mark = mark
    const words = wordsIn(mark, word => this.#hear(Number(word)))
    const streams = split(connection, { terminal: !!command.pty, begun: this.#begun.promise, words })
    this.stdout = streams.stdout
    this.stderr = streams.stderr
    this.stdin = command.stdin || command.pty ? inputOf(connection) : undefined
    connection.once('close', () => {
      this.#begun.resolve()
      this.#code.resolve(undefined)
    })
    this.exit = this.#ending(command)
  }

  /** Resolves when it runs, or has failed to. The mark is in the environment of all it starts. */
  static async start(place: Place, command: Launch, mark: string): Promise<Execution> {
    command.signal?.throwIfAborted()
    const { argv, cwd, env, pty, stdin } = command
    const size = pty ? [`${pty.columns}`, `${pty.rows}`] : ['', '']
    const id = await create(place, {
      AttachStdin: stdin === true || pty !== undefined,
      Tty: pty !== undefined,
      DetachKeys: DETACH_KEYS,
      Env: Object.entries({ ...env, GANTRY_EXEC: mark }).map(([name, value]) => `${name}=${value}`),
      Cmd: ['/bin/sh', '-c', ABOVE, 'sh', mark, ...size, cwd, ...argv],
    })
    command.signal?.throwIfAborted()
    const connection = await place.engine.hijack(`/exec/${id}/start`, { Detach: false, Tty: pty !== undefined })
    const execution = new Execution(place, id, mark, connection, command)
    await execution.#begun.promise
    return execution
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    // Where the engine's processes are this machine's too, they are ended from here: inside there may be no room for one more.
    if (name === 'SIGKILL') await signalMarked(`GANTRY_EXEC=${this.#mark}`, name)
    const words = [SIGNAL, 'sh', this.#mark, `${this.#above}`, name.slice('SIG'.length)]
    try {
      const id = await create(this.#place, { Cmd: ['/bin/sh', '-c', ...words] })
      const connection = await this.#place.engine.hijack(`/exec/${id}/start`, { Detach: false, Tty: false })
      await new Promise(resolve => {
        connection.once('close', resolve)
        connection.on('error', resolve)
        connection.resume()
      })
    } catch (error) {
      // Nobody is there to be signalled.
      if (!answered(error, 404, 409)) throw error
    }
  }

  async resize({ columns, rows }: Size): Promise<void> {
    const query = { w: columns, h: rows }
    await this.#place.engine.send('POST', `/exec/${this.#id}/resize`, { query }).catch(error => {
      // It has ended.
      if (!answered(error, 404, 409, 500)) throw error
    })
  }

  /** It was to end while it was frozen. */
  async thawed(): Promise<void> {
    if (this.#reason !== 'exited') await this.#kill()
  }

  async #kill(): Promise<void> {
    await this.signal('SIGKILL').catch(() => undefined)
    const { State } = await inspect(this.#place)
    if (State?.Paused !== true) this.#code.resolve(KILLED)
  }

  #hear(word: number): void {
    if (this.#above === 0) {
      this.#above = word
      this.#begun.resolve()
    } else this.#code.resolve(word)
  }

  async #ending({ timeoutMs, signal }: Command): Promise<Exit> {
    let hard: NodeJS.Timeout | undefined
    const end = (why: Exit['reason']) => {
      if (this.#reason !== 'exited') return
      this.#reason = why
      this.#begun.promise.then(() => this.signal('SIGTERM')).catch(() => undefined)
      hard = setTimeout(() => this.#kill(), KILL_AFTER_MS)
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), timeoutMs)
    const onAbort = () => end('aborted')
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    const told = await this.#code.promise
    clearTimeout(timer)
    clearTimeout(hard)
    signal?.removeEventListener('abort', onAbort)
    // What ignored the polite signal, or was started since, must not outlive the command that was ended.
    if (this.#reason !== 'exited') await this.signal('SIGKILL').catch(() => undefined)
    if (told !== undefined) return { code: told, reason: this.#reason }
    return this.#untold()
  }

  /** The shell above was killed, could not start, or the sandbox went away. */
  async #untold(): Promise<Exit> {
    for (let tries = 0; tries < SETTLE_TRIES; tries++) {
      const { ExitCode, Running, State } = await inspect(this.#place, this.#id)
      const gone = State?.Running !== true
      if (!Running || gone)
        return { code: ExitCode ?? KILLED, reason: gone && this.#reason === 'exited' ? 'lost' : this.#reason }
      await new Promise(resolve => setTimeout(resolve, SETTLE_MS))
    }
    return { code: KILLED, reason: this.#reason }
  }
}

interface Seen {
  Running?: boolean
  ExitCode?: number | null
  State?: { Running: boolean; Paused: boolean }
}

/** Of a command and of its container, what the engine still knows. */
async function inspect({ engine, container }: Place, exec?: string): Promise<Seen> {
  const nothing = (): Seen => ({})
  const [seen, around] = await Promise.all([
    exec === undefined ? nothing() : engine.get<Seen>(`/exec/${exec}/json`).catch(nothing),
    engine.get<Seen>(`/containers/${container}/json`).catch(nothing),
  ])
  return { Running: seen.Running, ExitCode: seen.ExitCode, State: around.State }
}

async function create({ engine, container, user }: Place, body: object): Promise<string> {
  const whole = { AttachStdout: true, AttachStderr: true, User: user, WorkingDir: '/', ...body }
  const made = await engine.post<{ Id: string }>(`/containers/${container}/exec`, { body: whole })
  if (!made) throw fault('sandbox_failed', 'The Docker engine gave a command no id')
  return made.Id
}

function inputOf(connection: Duplex): Writable {
  const input = new Writable({
    write: (chunk, _, done) => void (connection.destroyed ? done() : connection.write(chunk, () => done())),
    final: done => void (connection.destroyed ? done() : connection.end(() => done())),
  })
  connection.once('close', () => input.destroy())
  input.on('error', () => undefined)
  return input
}
