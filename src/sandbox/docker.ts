import type { Duplex } from 'node:stream'
import { fault } from '../api/errors.ts'
import { checked } from './docker/check.ts'
import {
  blueprint,
  type Container,
  furnish,
  HOME,
  LABELS,
  logsOf,
  type Making,
  pathIn,
  postMortem,
  resources,
  type User,
} from './docker/container.ts'
import { dialled } from './docker/dial.ts'
import { answered, Engine, EngineError } from './docker/engine.ts'
import { Execution } from './docker/execution.ts'
import { pull } from './docker/image.ts'
import { DIAL } from './docker/script.ts'
import { baseEnv } from './environment.ts'
import { run } from './run.ts'
import type { Backend, Command, Order, Process, Proof, Sandbox, Sight, Usage } from './sandbox.ts'

export interface DockerOptions {
  /** Where the engine listens. */
  socketPath: string
  /** Marks what belongs to this data folder. Letters, digits, `_`, `.` and `-`. */
  owner: string
  /** Whom commands run as, so that what they make in granted folders belongs to the right one. */
  user?: User
  /** For instance `runsc`. The engine's own unless given. */
  runtime?: string
  /** Told the host's id of a sandbox's first process when it runs; gives it its network until what it returns is called. */
  network?: (pid: number, order: Order) => Promise<() => void>
  /** Connects to a port in the network of a process. By a command inside unless given. */
  dial?: (pid: number, port: number) => Promise<Duplex>
}

/** Never root unless asked for. */
const SOMEBODY: User = { uid: 1000, gid: 1000 }

/** What a sandbox's own command has between the polite signal and its end. */
const STOP_GRACE_S = 5

/** Of what the first command in a sandbox complains of. */
const COMPLAINT_BYTES = 4_096

/** Containers of a Docker or Podman engine. What a command makes lies in its container, which is kept until it is removed. */
export class DockerBackend implements Backend {
  readonly name = 'docker'
  readonly #options: DockerOptions
  readonly #engine: Engine
  /** Of those this server has started. */
  readonly #orders = new Map<string, Order>()
  /** Where their images have programs. */
  readonly #paths = new Map<string, string | undefined>()
  readonly #stopped = new Set<string>()
  readonly #networks = new Map<string, () => void>()
  readonly #executions = new Map<string, Set<Execution>>()
  /** The last step of each life: one waits for the other. */
  readonly #steps = new Map<string, Promise<unknown>>()
  readonly #starting = new Map<string, AbortController>()
  #cores: Promise<number> | undefined

  constructor(options: DockerOptions) {
    this.#options = options
    this.#engine = new Engine(options.socketPath)
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
    return this.#step(order.id, async () => {
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
    return this.#step(id, async () => {
      if ((await this.#find(id))?.State.Status === 'running') await this.#post(id, 'pause')
    })
  }

  resume(id: string): Promise<void> {
    return this.#step(id, async () => {
      if ((await this.#find(id))?.State.Status !== 'paused') return
      await this.#post(id, 'unpause')
      const order = this.#orders.get(id)
      if (order) await this.#connected(order)
      await Promise.all([...this.#running(id)].map(execution => execution.thawed()))
    })
  }

  stop(id: string): Promise<void> {
    this.#starting.get(id)?.abort(fault('sandbox_unavailable', id, 'being stopped'))
    return this.#step(id, () => this.#stop(id))
  }

  remove(id: string): Promise<void> {
    this.#starting.get(id)?.abort(fault('sandbox_unavailable', id, 'being stopped'))
    return this.#step(id, async () => {
      this.#forget(id)
      await this.#deleteContainer(id)
      await this.#engine.send('DELETE', `/images/${this.#kept(id)}`, { query: { force: true } }).catch(error => {
        if (!answered(error, 404)) throw error
      })
      this.#stopped.delete(id)
    })
  }

  async look(id: string): Promise<Sight> {
    const found = await this.#find(id)
    if (!found) return { state: 'absent' }
    const { Status, ExitCode } = found.State
    if (Status === 'running' || Status === 'paused') return { state: Status }
    // Those of an earlier server are known only by how they ended: these are the ends of a stop.
    const asked = this.#stopped.has(id) || (!this.#orders.has(id) && [0, 143].includes(ExitCode))
    return asked ? { state: 'stopped' } : { state: 'stopped', failure: await this.#why(id, found) }
  }

  async list(): Promise<string[]> {
    const filters = JSON.stringify({ label: [`${LABELS.owner}=${this.#options.owner}`] })
    const query = { all: true, filters }
    const found = await this.#engine.get<{ Labels: Record<string, string> }[]>('/containers/json', { query })
    return found.map(({ Labels }) => Labels[LABELS.sandbox]).filter(id => id !== undefined)
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

  async logs(id: string): Promise<string> {
    return logsOf(this.#engine, this.#name(id)).catch(error => {
      if (answered(error, 404)) return ''
      throw error
    })
  }

  async usage(id: string): Promise<Usage> {
    const found = await this.#find(id, { size: true })
    const alive = found?.State.Status === 'running' || found?.State.Status === 'paused'
    const stats = alive ? await this.#stats(id) : undefined
    const { usage = 0, stats: { total_inactive_file = 0, inactive_file = total_inactive_file } = {} } =
      stats?.memory_stats ?? {}
    return {
      memoryBytes: Math.max(0, usage - inactive_file),
      diskBytes: found?.SizeRw ?? 0,
      processes: stats?.pids_stats?.current ?? 0,
    }
  }

  /** Containers stay; what was executed in them for this server's callers does not. */
  async close(): Promise<void> {
    for (const starting of this.#starting.values()) starting.abort(fault('shutting_down'))
    const executions = [...this.#executions.values()].flatMap(some => [...some])
    await Promise.allSettled(executions.map(execution => execution.signal('SIGKILL')))
    for (const release of this.#networks.values()) release()
    this.#networks.clear()
    this.#orders.clear()
  }

  async #start(order: Order, signal: AbortSignal): Promise<void> {
    const { id } = order
    const making: Making = { order, owner: this.#options.owner, user: this.#user, runtime: this.#options.runtime }
    try {
      signal.throwIfAborted()
      let found = await this.#renewed(making)
      if (!found) {
        await this.#make(making, signal)
        found = await this.#find(id)
      }
      signal.throwIfAborted()
      if (found) this.#paths.set(id, pathIn(found))
      if (found?.State.Status === 'paused') await this.#post(id, 'unpause')
      else if (found?.State.Status !== 'running') {
        await this.#limit(id, order, found)
        await this.#post(id, 'start')
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof EngineError) throw fault('sandbox_failed', `The sandbox could not start: ${error.message}`)
      throw error
    }
    this.#stopped.delete(id)
    this.#orders.set(id, order)
    try {
      await this.#connected(order)
      await this.#probe(order)
      signal.throwIfAborted()
    } catch (error) {
      const found = await this.#find(id)
      const ended = found !== undefined && found.State.Status !== 'running'
      const why = ended ? await this.#why(id, found) : (error as Error).message
      await this.#stop(id)
      signal.throwIfAborted()
      throw fault('sandbox_failed', why)
    }
  }

  /** Proves that commands run, by making the working directory where the engine could not. */
  async #probe(order: Order): Promise<void> {
    const argv = ['mkdir', '-p', '--', order.workingDir] as const
    const { code, stderr } = await run(this.sandbox(order.id), { argv, cwd: '/' }, { limit: COMPLAINT_BYTES })
    if (code !== 0)
      throw new Error(`The working directory cannot be made: ${stderr.toString().trim() || `exit code ${code}`}`)
  }

  async #make(making: Making, signal: AbortSignal): Promise<void> {
    const { order } = making
    const kept = this.#kept(order.id)
    const again = await this.#engine.get(`/images/${kept}/json`).then(
      () => true,
      () => false,
    )
    const Image = again ? kept : order.image
    if (!Image) throw fault('sandbox_failed', 'A sandbox of the Docker engine needs an image')
    const plan = blueprint(making)
    const HostConfig = { ...plan.HostConfig, ...resources(order.limits, await this.#coresThere()) }
    const create = () =>
      this.#engine.post('/containers/create', {
        query: { name: this.#name(order.id) },
        body: { ...plan, HostConfig, Image },
      })
    await create().catch(async error => {
      if (!answered(error, 404)) throw error
      await pull(this.#engine, Image, { onProgress: order.onProgress, signal })
      await create()
    })
    if (!again) await furnish(this.#engine, this.#name(order.id), making)
  }

  /**
   * The container there is, if it has the shape that is ordered now, or runs. Another is kept as an image, so that the next one has
   * all its files. One that never ran has none, and may not be furnished.
   */
  async #renewed(making: Making): Promise<Container | undefined> {
    const { id } = making.order
    const found = await this.#find(id)
    if (!found || found.State.Status === 'running' || found.State.Status === 'paused') return found
    if (found.State.Status !== 'created') {
      if (found.Config.Labels?.[LABELS.shape] === blueprint(making).Labels[LABELS.shape]) return found
      const [repo, tag] = this.#kept(id).split(':') as [string, string]
      await this.#engine.post('/commit', { query: { container: this.#name(id), repo, tag } })
    }
    await this.#deleteContainer(id)
    return undefined
  }

  async #limit(id: string, { limits }: Order, found: Container | undefined): Promise<void> {
    const wanted = resources(limits, await this.#coresThere())
    const { Memory, PidsLimit, NanoCpus } = found?.HostConfig ?? wanted
    if (Memory === wanted.Memory && PidsLimit === wanted.PidsLimit && NanoCpus === wanted.NanoCpus) return
    await this.#engine.post(`/containers/${this.#name(id)}/update`, { body: wanted })
  }

  async #stop(id: string): Promise<void> {
    this.#forget(id)
    const found = await this.#find(id)
    if (found?.State.Status === 'paused') await this.#post(id, 'unpause')
    if (found?.State.Status !== 'running' && found?.State.Status !== 'paused') return
    this.#stopped.add(id)
    await this.#engine.post(`/containers/${this.#name(id)}/stop`, { query: { t: STOP_GRACE_S } }).catch(error => {
      if (!answered(error, 404)) throw error
    })
  }

  #forget(id: string): void {
    this.#orders.delete(id)
    this.#paths.delete(id)
    this.#networks.get(id)?.()
    this.#networks.delete(id)
  }

  async #connected(order: Order): Promise<void> {
    const { network } = this.#options
    if (!network) return
    this.#networks.get(order.id)?.()
    this.#networks.delete(order.id)
    this.#networks.set(order.id, await network(await this.#pid(order.id), order))
  }

  async #exec(order: Order, command: Command): Promise<Process> {
    const base = baseEnv({ home: HOME, terminal: command.pty !== undefined })
    const env = {
      ...base,
      PATH: this.#paths.get(order.id) ?? base.PATH!,
      ...order.env,
      ...command.env,
    }
    const launch = checked({ ...command, cwd: command.cwd ?? order.workingDir, env })
    const place = { engine: this.#engine, container: this.#name(order.id), user: `${this.#user.uid}:${this.#user.gid}` }
    const execution = await Execution.start(place, launch).catch(error => this.#shut(order.id, error))
    const running = this.#running(order.id)
    running.add(execution)
    execution.exit.then(() => running.delete(execution))
    return execution
  }

  async #connect(order: Order, port: number): Promise<Duplex> {
    const { dial } = this.#options
    if (dial) return dial(await this.#pid(order.id), port)
    return dialled(port, await this.#exec(order, { argv: ['sh', '-c', DIAL, 'sh', `${port}`], cwd: '/', stdin: true }))
  }

  /** What the engine refused, told as what it means. */
  async #shut(id: string, error: unknown): Promise<never> {
    if (!(error instanceof EngineError)) throw error
    const { state } = await this.look(id)
    if (state !== 'running') throw fault('sandbox_unavailable', id, state === 'paused' ? 'paused' : 'not running')
    throw fault('sandbox_failed', `The command could not start: ${error.message}`)
  }

  /** One after the other, whatever came of the one before. */
  #step<T>(id: string, take: () => Promise<T>): Promise<T> {
    const step = (this.#steps.get(id) ?? Promise.resolve()).then(take, take)
    const settled = step
      .catch(() => undefined)
      .then(() => {
        if (this.#steps.get(id) === settled) this.#steps.delete(id)
      })
    this.#steps.set(id, settled)
    return step
  }

  async #find(id: string, query: { size?: boolean } = {}): Promise<Container | undefined> {
    return this.#engine.get<Container>(`/containers/${this.#name(id)}/json`, { query }).catch(error => {
      if (answered(error, 404)) return undefined
      throw error
    })
  }

  async #pid(id: string): Promise<number> {
    const pid = (await this.#find(id))?.State.Pid
    if (!pid) throw fault('sandbox_unavailable', id, 'not running')
    return pid
  }

  #why(id: string, found: Container): Promise<string> {
    return postMortem(this.#engine, this.#name(id), found)
  }

  async #stats(id: string) {
    interface Stats {
      memory_stats?: { usage?: number; stats?: { total_inactive_file?: number; inactive_file?: number } }
      pids_stats?: { current?: number }
    }
    const query = { stream: false, 'one-shot': true }
    return this.#engine.get<Stats>(`/containers/${this.#name(id)}/stats`, { query }).catch(() => undefined)
  }

  async #post(id: string, what: 'start' | 'pause' | 'unpause'): Promise<void> {
    await this.#engine.post(`/containers/${this.#name(id)}/${what}`)
  }

  async #deleteContainer(id: string): Promise<void> {
    const path = `/containers/${this.#name(id)}`
    const query = { force: true, v: true }
    await this.#engine.send('DELETE', path, { query }).catch(async error => {
      if (answered(error, 404)) return
      if (!answered(error, 409)) throw error
      // Somebody else is removing it.
      await this.#engine.send('POST', `${path}/wait`, { query: { condition: 'removed' } }).catch(gone => {
        if (!answered(gone, 404)) throw gone
      })
    })
  }

  async #coresThere(): Promise<number> {
    this.#cores ??= this.#engine.get<{ NCPU: number }>('/info').then(({ NCPU }) => NCPU)
    return this.#cores.catch(error => {
      this.#cores = undefined
      throw error
    })
  }

  #running(id: string): Set<Execution> {
    const running = this.#executions.get(id) ?? new Set()
    this.#executions.set(id, running)
    return running
  }

  get #user(): User {
    return this.#options.user ?? SOMEBODY
  }

  #name(id: string): string {
    return `gantry-${this.#options.owner}-${id}`
  }

  /** The image a container's files are kept in while it is made anew. */
  #kept(id: string): string {
    return `${this.#name(id).toLowerCase()}:kept`
  }
}
