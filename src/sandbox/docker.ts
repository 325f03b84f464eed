import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { fault } from '../api/errors.ts'
import { Turns } from '../lib/turns.ts'
import { HOME, type Making, pathIn, type User } from './docker/container.ts'
import { Containers, lives, refusal } from './docker/containers.ts'
import { dialled } from './docker/dial.ts'
import { Engine, EngineError } from './docker/engine.ts'
import { Execution } from './docker/execution.ts'
import { DIAL } from './docker/script.ts'
import { baseEnv } from './environment.ts'
import type { Outlet } from './local/outlet.ts'
import { marked } from './local/tree.ts'
import { run } from './run.ts'
import type { Backend, Command, Order, Process, Proof, Sandbox, Sight, Usage } from './sandbox.ts'
import { checkLaunch } from './shell.ts'

export interface DockerOptions {
  /** Where the engine listens. */
  socketPath: string
  /** Marks what belongs to this data folder. Letters, digits, `_`, `.` and `-`. */
  owner: string
  /** Whom commands run as, so that what they make in granted folders belongs to the right one. */
  user?: User
  /** Makes the way out for a sandbox whose first process has this id on the host. Without it, commands have no network. */
  outlet?: (pid: number, order: Order) => Way
  /** Something is missing that a person would want to know of. */
  onTrouble?: (id: string, what: string) => void
}

/** The part of an outlet that is used here. */
export type Way = Pick<Outlet, 'open' | 'admit' | 'close'> & { connect(port: number): Promise<Duplex> }

/** Never root unless asked for. */
const SOMEBODY: User = { uid: 1000, gid: 1000 }

/** Of what the first command in a sandbox complains of. */
const COMPLAINT_BYTES = 4_096

/** How the idle command, and most others, end when they are stopped. */
const STOPPED_CODES = [0, 143]

/** Containers of a Docker or Podman engine. What a command makes lies in its container, which is kept until it is removed. */
export class DockerBackend implements Backend {
  readonly name = 'docker'
  readonly #options: DockerOptions
  readonly #user: User
  readonly #engine: Engine
  readonly #containers: Containers
  /** Of those this server has started. */
  readonly #orders = new Map<string, Order>()
  /** Where their images have programs. */
  readonly #paths = new Map<string, string | undefined>()
  readonly #outlets = new Map<string, Way>()
  readonly #executions = new Map<string, Set<Execution>>()
  readonly #stopped = new Set<string>()
  readonly #turns = new Turns()
  readonly #starting = new Map<string, AbortController>()

  constructor(options: DockerOptions) {
    this.#options = options
    this.#user = options.user ?? SOMEBODY
    this.#engine = new Engine(options.socketPath)
    this.#containers = new Containers(this.#engine, options.owner)
  }

  async prove(): Promise<Proof> {
    try {
      const { Version } = await this.#engine.version()
      return { isolated: true, summary: `each sandbox is a container of the Docker engine ${Version}` }
    } catch (error) {
      return { isolated: false, summary: (error as Error).message }
    }
  }

  start(order: Order, signal?: AbortSignal): Promise<void> {
    return this.#turns.take(order.id, async () => {
      const cut = new AbortController()
      this.#starting.set(order.id, cut)
      try {
        await this.#start(order, AbortSignal.any([cut.signal, ...(signal ? [signal] : [])]))
      } finally {
        this.#starting.delete(order.id)
      }
    })
  }

  pause(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      if ((await this.look(id)).state === 'running') await this.#containers.pause(id)
    })
  }

  resume(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      if ((await this.look(id)).state !== 'paused') return
      await this.#thaw(id)
      const order = this.#orders.get(id)
      if (order) await this.#connected(order)
    })
  }

  stop(id: string): Promise<void> {
    this.#starting.get(id)?.abort(fault('sandbox_unavailable', id, 'being stopped'))
    return this.#turns.take(id, () => this.#stop(id))
  }

  remove(id: string): Promise<void> {
    this.#starting.get(id)?.abort(fault('sandbox_unavailable', id, 'being removed'))
    return this.#turns.take(id, async () => {
      this.#forget(id)
      await this.#containers.remove(id)
      this.#stopped.delete(id)
    })
  }

  async look(id: string): Promise<Sight> {
    const found = await this.#containers.find(id)
    if (!found) return { state: 'absent' }
    const { Status, ExitCode } = found.State
    if (Status === 'running' || Status === 'paused') return { state: Status }
    // How those of an earlier server came to their end is not known otherwise.
    const asked = this.#stopped.has(id) || (!this.#orders.has(id) && STOPPED_CODES.includes(ExitCode))
    return asked ? { state: 'stopped' } : { state: 'stopped', failure: await this.#containers.why(id, found) }
  }

  list(): Promise<string[]> {
    return this.#containers.list()
  }

  sandbox(id: string): Sandbox {
    const order = this.#orders.get(id)
    if (!order) throw fault('sandbox_unavailable', id, 'not running')
    return {
      id,
      home: HOME,
      workingDir: order.workingDir,
      exec: command => this.#exec(order, command),
      connect: port => this.#connect(order, port),
    }
  }

  logs(id: string): Promise<string> {
    return this.#containers.logs(id)
  }

  usage(id: string): Promise<Usage> {
    return this.#containers.usage(id)
  }

  /** Containers stay; what was executed in them for this server's callers does not. */
  async close(): Promise<void> {
    for (const starting of this.#starting.values()) starting.abort(fault('shutting_down'))
    const executions = [...this.#executions.values()].flatMap(some => [...some])
    await Promise.allSettled(executions.map(execution => execution.signal('SIGKILL')))
    for (const id of [...this.#orders.keys()]) this.#forget(id)
  }

  async #start(order: Order, signal: AbortSignal): Promise<void> {
    const { id } = order
    const making: Making = { order, owner: this.#options.owner, user: this.#user }
    try {
      signal.throwIfAborted()
      const found = await this.#containers.prepare(making, signal)
      signal.throwIfAborted()
      if (!lives(found)) await this.#containers.start(id)
      else if (found?.State.Status === 'paused') await this.#thaw(id)
      this.#paths.set(id, found && pathIn(found))
    } catch (error) {
      signal.throwIfAborted()
      throw refusal(error, 'The sandbox could not start')
    }
    this.#stopped.delete(id)
    this.#orders.set(id, order)
    try {
      await this.#connected(order)
      await this.#probe(order)
      signal.throwIfAborted()
    } catch (error) {
      const found = await this.#containers.find(id)
      const why = found && !lives(found) ? await this.#containers.why(id, found) : (error as Error).message
      await this.#stop(id, { atOnce: true })
      signal.throwIfAborted()
      throw fault('sandbox_failed', why)
    }
  }

  /** Proves that commands run, by making the working directory where the engine could not. */
  async #probe(order: Order): Promise<void> {
    const argv = ['mkdir', '-p', '--', order.workingDir] as const
    const { code, stdout, stderr } = await run(this.sandbox(order.id), { argv, cwd: '/' }, { limit: COMPLAINT_BYTES })
    if (code === 0) return
    // When there is no shell, it is the engine that complains, on the other stream.
    const complaint = `${stderr}${stdout}`.trim() || `exit code ${code}`
    throw new Error(`The working directory cannot be made: ${complaint}`)
  }

  async #stop(id: string, { atOnce } = { atOnce: false }): Promise<void> {
    this.#forget(id)
    const found = await this.#containers.find(id)
    if (!lives(found)) return
    this.#stopped.add(id)
    // Nobody frozen hears a signal.
    if (found?.State.Status === 'paused') await this.#containers.unpause(id)
    await this.#containers.stop(id, { atOnce })
  }

  async #thaw(id: string): Promise<void> {
    await this.#containers.unpause(id)
    await Promise.all([...(this.#executions.get(id) ?? [])].map(execution => execution.thawed()))
  }

  /** What is known of it only while it runs. */
  #forget(id: string): void {
    this.#orders.delete(id)
    this.#paths.delete(id)
    this.#outlets.get(id)?.close()
    this.#outlets.delete(id)
  }

  async #connected(order: Order): Promise<void> {
    const { outlet } = this.#options
    if (!outlet || this.#outlets.has(order.id)) return
    const way = outlet(await this.#pid(order.id), order)
    way.open({ takenOver: true, onTrouble: what => this.#options.onTrouble?.(order.id, what) })
    this.#outlets.set(order.id, way)
  }

  async #exec(order: Order, command: Command): Promise<Process> {
    const { id } = order
    const base = baseEnv({ home: HOME, terminal: command.pty !== undefined })
    const path = this.#paths.get(id)
    const pass = await this.#outlets.get(id)?.admit(command)
    const env = { ...base, ...(path && { PATH: path }), ...pass?.env, ...order.env, ...command.env }
    const { uid, gid } = this.#user
    const mark = randomBytes(16).toString('hex')
    const place = { engine: this.#engine, container: this.#containers.name(id), user: `${uid}:${gid}` }
    const leave = () => pass?.leave(async () => (await marked(`GANTRY_EXEC=${mark}`)).length > 0)
    const start = async () =>
      Execution.start(place, checkLaunch({ ...command, cwd: command.cwd ?? order.workingDir, env }), mark)
    const execution = await start().catch(error => {
      leave()
      return this.#shut(id, error)
    })
    const executions = this.#executions.get(id) ?? new Set()
    this.#executions.set(id, executions.add(execution))
    execution.exit.then(() => {
      leave()
      executions.delete(execution)
      if (executions.size === 0 && this.#executions.get(id) === executions) this.#executions.delete(id)
    })
    return execution
  }

  async #connect(order: Order, port: number): Promise<Duplex> {
    const outlet = this.#outlets.get(order.id)
    return outlet ? outlet.connect(port) : this.#dial(order, port)
  }

  /** By what there is inside. */
  async #dial(order: Order, port: number): Promise<Duplex> {
    return dialled(port, await this.#exec(order, { argv: ['sh', '-c', DIAL, 'sh', `${port}`], cwd: '/', stdin: true }))
  }

  /** What the engine refused, told as what it means. */
  async #shut(id: string, error: unknown): Promise<never> {
    if (!(error instanceof EngineError)) throw error
    const { state } = await this.look(id)
    if (state === 'running') throw refusal(error, 'The command could not start')
    throw fault('sandbox_unavailable', id, state === 'paused' ? 'paused' : 'not running')
  }

  async #pid(id: string): Promise<number> {
    const pid = (await this.#containers.find(id))?.State.Pid
    if (!pid) throw fault('sandbox_unavailable', id, 'not running')
    return pid
  }
}
