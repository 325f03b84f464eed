import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../api/errors.ts'
import { Turns } from '../lib/turns.ts'
import { bubblewrap } from './local/bubblewrap.ts'
import type { Cgroups, Group } from './local/cgroup.ts'
import { WAY_ENV } from './local/child.ts'
import { Life } from './local/life.ts'
import { diskUsage, foldersIn, memoryUsage, tail } from './local/measure.ts'
import type { Gate } from './local/outlet.ts'
import { seccompFilter } from './local/seccomp.ts'
import { beneath, firstChild, holding, isHolding, signalAll, signalMarked, stateOf, stopAll } from './local/tree.ts'
import { utilLinux } from './local/util-linux.ts'
import { furnish, type Mount, systemView, type User, viewOf } from './local/view.ts'
import type { Holder, Walls } from './local/walls.ts'
import { run } from './run.ts'
import type { Backend, Order, Proof, Sandbox, Sight, Usage } from './sandbox.ts'

export interface LocalOptions {
  /** Where the sandboxes' folders are. */
  folder: string
  /** For what all of them share; the server's alone. */
  shared: string
  /** Tells this server's sandboxes from those of others on the machine. */
  owner: string
  /** Whom commands run as; files belong to them. */
  user: User
  /** Whether the server is root. */
  privileged: boolean
  cgroups?: Cgroups | undefined
  /** With what walls are built, the best first; both kinds unless given. */
  walls?: readonly Walls[]
  /** Where requests that leave a sandbox go; without it there is no way out. */
  gate?: Gate | undefined
  /** Something ended without having been told to. */
  onEnd?: (id: string) => void
  /** Something is missing that a person would want to know of. */
  onTrouble?: (id: string, what: string) => void
}

/** Tells the sandboxes of one data folder from those of any other on the machine. */
export const ownerOf = (data: string): string => createHash('sha256').update(data).digest('hex').slice(0, 12)

/** The sandbox on which walls are tried out. Its folder stays, so that a full disk does not make them look broken. */
const TRIAL = 'trial'

const SAFE = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** A process that is in its groups, and then becomes its arguments. `$1` is where its id goes. */
const HOLD = `echo $$ > "$1"; n=$2; shift 2
while [ "$n" -gt 0 ]; do echo 0 > "$1"; shift; n=$((n - 1)); done; exec "$@"`
/** The first process inside: makes the working directory, says that it is there, and reaps what others leave behind. */
const INIT = `mkdir -p -- "$1" || { echo "The working directory $1 cannot be made"; exit 1; }
sleep 1000000 3>&- & echo up >&3; exec 3>&-; while :; do wait $!; sleep 1000000 & done`

/** A trial that takes longer has failed, whatever it waits for. */
const TRIAL_MS = 10_000

/** A command that cannot run at all says so at once. */
const COMMAND_MS = 100

/** Namespaces of this machine's kernel: files of its own over a read-only system, no network but what a proxy gives. */
export class LocalBackend implements Backend {
  readonly name = 'local'
  readonly #options: LocalOptions
  readonly #filter: string | undefined
  readonly #system: readonly Mount[]
  #walls: Walls
  readonly #lives = new Map<string, Life>()
  readonly #turns = new Turns()

  private constructor(options: LocalOptions, filter: string | undefined, system: readonly Mount[]) {
    this.#options = options
    this.#filter = filter
    this.#system = system
    this.#walls = options.walls?.[0] ?? bubblewrap
  }

  static async open(options: LocalOptions): Promise<LocalBackend> {
    for (const folder of [options.folder, options.shared]) await mkdir(folder, { recursive: true, mode: 0o700 })
    const program = seccompFilter(process.arch)
    const filter = program ? join(options.shared, 'filter') : undefined
    if (program && filter) await writeFile(filter, program)
    return new LocalBackend(options, filter, await systemView(join(options.shared, 'etc'), options.user))
  }

  async prove(signal?: AbortSignal): Promise<Proof> {
    const limits = { memoryBytes: 256e6, processes: 64, cpus: 1, diskBytes: 1e9 }
    const order = {
      id: TRIAL,
      workingDir: '/workspace',
      env: {},
      limits,
      egress: { mode: 'none' },
      grants: [],
    } as const
    const reasons: string[] = []
    for (const walls of this.#options.walls ?? [bubblewrap, utilLinux]) {
      this.#walls = walls
      try {
        await this.start(order, signal)
        const { code, stderr } = await run(
          this.sandbox(TRIAL),
          { argv: ['true'], timeoutMs: TRIAL_MS },
          { limit: 4096 },
        )
        if (code !== 0) throw new Error(`a command ended with exit code ${code}: ${stderr}`)
        return { isolated: true, summary: `commands run in namespaces made by ${walls.name}` }
      } catch (error) {
        reasons.push(`${walls.name}: ${(error as Error).message}`)
      } finally {
        await this.stop(TRIAL)
      }
    }
    return { isolated: false, summary: `nothing isolates here: ${reasons.join('; ')}` }
  }

  start(order: Order, signal?: AbortSignal): Promise<void> {
    return this.#turns.take(order.id, () => this.#start(order, signal))
  }

  pause(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#pause(id))
  }

  resume(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#resume(id))
  }

  stop(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#stop(id))
  }

  remove(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#remove(id))
  }

  async #start(order: Order, signal?: AbortSignal): Promise<void> {
    const holder = await this.#holder(order.id)
    if (holder) {
      await this.#resume(order.id)
      if (this.#lives.get(order.id)?.holder.outer !== holder.outer) this.#live(order, holder).open()
      return
    }
    const { child, log } = await this.#build(order)
    try {
      const holder = await this.#up(child, log, signal)
      const life = this.#live(order, holder)
      child.once('exit', code => this.#ended(life, code, log))
      life.open()
      if (order.command) await this.#command(life, order.command, log)
    } catch (error) {
      await this.#stop(order.id)
      throw error
    }
  }

  async #pause(id: string): Promise<void> {
    const holder = await this.#holder(id)
    if (!holder) return
    const life = this.#lives.get(id)
    if (life) life.paused = true
    const group = this.#group(id)
    if (group) await group.freeze(true)
    else await stopAll(() => beneath(holder.init))
  }

  async #resume(id: string): Promise<void> {
    const holder = await this.#holder(id)
    if (!holder) return
    const group = this.#group(id)
    if (group) await group.freeze(false)
    else await this.#signalWithout(id, holder, 'SIGCONT')
    const life = this.#lives.get(id)
    if (life) life.paused = false
  }

  async #stop(id: string): Promise<void> {
    this.#lives.get(id)?.close()
    this.#lives.delete(id)
    await this.#end(id)
  }

  /** Without a group: what is inside, and what leads there, which stops when that is stopped. */
  async #signalWithout(id: string, holder: Holder | undefined, name: NodeJS.Signals): Promise<void> {
    if (holder) await signalAll(() => beneath(holder.init), name)
    await signalMarked(`GANTRY_WAY=${this.#options.owner}/${id}`, name)
  }

  /** Ends every process of it, whoever started them. */
  async #end(id: string): Promise<void> {
    const group = this.#group(id)
    const holder = await this.#holder(id)
    for (const pid of holder ? [holder.init, holder.outer] : [])
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended meanwhile.
      }
    if (group) await group.kill()
    else await this.#signalWithout(id, holder, 'SIGKILL')
    for (let wait = 0.5; holder && (await isHolding(holder.outer, this.#mark(id))); wait = Math.min(wait * 2, 20))
      await delay(wait)
    await group?.remove()
  }

  async #remove(id: string): Promise<void> {
    await this.#stop(id)
    const folder = this.#folder(id)
    await rm(folder, { recursive: true, force: true }).catch(async () => {
      // The owner of a folder may have closed it to themselves.
      await once(spawn('chmod', ['-R', 'u+rwX', '--', folder], { stdio: 'ignore' }), 'exit')
      await rm(folder, { recursive: true, force: true })
    })
  }

  async look(id: string): Promise<Sight> {
    const holder = await this.#holder(id)
    if (holder) {
      const group = this.#group(id)
      const frozen = group ? await group.isFrozen() : (await stateOf(holder.init)) === 'T'
      return { state: frozen ? 'paused' : 'running' }
    }
    const failure = this.#lives.get(id)?.failure
    const state = (await foldersIn(this.#options.folder)).includes(id) ? 'stopped' : 'absent'
    return { state, ...(failure !== undefined && { failure }) }
  }

  async list(): Promise<string[]> {
    const { folder, cgroups, owner } = this.#options
    const ids = [await foldersIn(folder), (await cgroups?.list()) ?? [], await holding(`GANTRY_HOLD=${owner}/`)]
    // They become paths: what is no name of ours is nobody's.
    return [...new Set(ids.flat())].filter(id => SAFE.test(id) && id !== TRIAL)
  }

  sandbox(id: string): Sandbox {
    const life = this.#lives.get(id)
    if (!life || life.failure !== undefined) throw fault('sandbox_unavailable', id, 'not running')
    return life
  }

  async logs(id: string): Promise<string> {
    return tail(join(this.#folder(id), 'log'))
  }

  async usage(id: string): Promise<Usage> {
    const holder = await this.#holder(id)
    const pids = holder ? await (this.#group(id)?.pids() ?? beneath(holder.init)) : []
    const [memoryBytes, diskBytes] = await Promise.all([
      this.#group(id)?.memoryBytes() ?? memoryUsage(pids),
      diskUsage(this.#folder(id)),
    ])
    return { processes: pids.length, memoryBytes: memoryBytes ?? 0, diskBytes }
  }

  /** No process stays behind; files do. */
  async close(): Promise<void> {
    await Promise.all([...this.#lives.keys()].map(id => this.stop(id)))
    await this.#options.cgroups?.close()
  }

  #live(order: Order, holder: Holder): Life {
    const { user, privileged, gate, onTrouble = () => undefined } = this.#options
    const earlier = this.#lives.get(order.id)
    if (earlier?.holder.outer === holder.outer && earlier.failure === undefined) {
      earlier.order = order
      return earlier
    }
    earlier?.close()
    const markOf = (id: string) => `${this.#options.owner}/${id}`
    const surroundings = { user, privileged, filter: this.#filter, gate, markOf, onTrouble }
    const life = new Life(order, holder, this.#walls, this.#group(order.id), surroundings)
    this.#lives.set(order.id, life)
    return life
  }

  async #build(order: Order): Promise<{ child: ChildProcess; log: string }> {
    const { user, privileged } = this.#options
    const folder = this.#folder(order.id)
    const root = join(folder, 'root')
    const own = async (path: string) => {
      if (privileged) await chown(path, user.uid, user.gid)
    }
    const group = this.#group(order.id)
    furnish(root, privileged ? user : undefined)
    await group?.make(order.limits)
    const mounts = await viewOf(root, this.#system, order.grants, own)
    const spot = join(folder, 'spot')
    await mkdir(spot, { recursive: true })
    const plan = { mounts, user, spot, privileged, init: ['/bin/sh', '-c', INIT, 'sh', order.workingDir] }
    const doors = group?.doors ?? []
    const words = [join(folder, 'pid'), `${doors.length}`, ...doors, ...this.#walls.build(plan)]
    const log = join(folder, 'log')
    const file = await open(log, 'a', 0o600)
    const child = spawn('/bin/sh', ['-c', HOLD, 'sh', ...words], {
      cwd: '/',
      env: { ...WAY_ENV, GANTRY_HOLD: `${this.#options.owner}/${order.id}` },
      stdio: ['ignore', file.fd, file.fd, 'pipe'],
      detached: true,
    })
    child.unref()
    child.once('error', () => undefined)
    await file.close()
    return { child, log }
  }

  /** The first process has said that it is there, or the chain of programs broke. */
  async #up(child: ChildProcess, log: string, signal?: AbortSignal): Promise<Holder> {
    const pipe = child.stdio[3] as Readable
    const exited = once(child, 'exit').then(([code, by]) => code ?? by)
    const up = await Promise.race([once(pipe, 'data', { signal }).then(() => true), exited]).finally(() =>
      pipe.destroy(),
    )
    if (up !== true)
      throw fault('sandbox_failed', `It ended with exit code ${up} while starting. ${(await tail(log)).trim()}`)
    const outer = child.pid!
    return { outer, init: await firstChild(outer) }
  }

  /** What the order has run from the start. When it ends, so does the sandbox. */
  async #command(life: Life, [program, ...words]: readonly string[], log: string): Promise<void> {
    const file = await open(log, 'a', 0o600)
    const main = await life.exec({ argv: [program!, ...words] }, file.fd).finally(() => file.close())
    const ended = main.exit.then(async ({ code }) => {
      if (this.#lives.get(life.id) !== life) return
      life.failure = `Its command ended with exit code ${code}. ${(await tail(log)).trim()}`
      await this.#end(life.id)
      this.#options.onEnd?.(life.id)
    })
    await main.begun
    await Promise.race([ended, delay(COMMAND_MS)])
    if (life.failure !== undefined) throw fault('sandbox_failed', life.failure)
  }

  async #ended(life: Life, code: number | null, log: string): Promise<void> {
    if (this.#lives.get(life.id) !== life || life.failure !== undefined) return
    life.failure = `It ended with exit code ${code}. ${(await tail(log)).trim()}`
    this.#options.onEnd?.(life.id)
  }

  /** The processes that keep it there, when they do. */
  async #holder(id: string): Promise<Holder | undefined> {
    const known = this.#lives.get(id)?.holder
    if (known && (await isHolding(known.outer, this.#mark(id)))) return known
    const outer = Number(await readFile(join(this.#folder(id), 'pid'), 'latin1').catch(() => '0'))
    if (!outer || !(await isHolding(outer, this.#mark(id)))) return undefined
    return { outer, init: await firstChild(outer) }
  }

  #mark(id: string): string {
    return `GANTRY_HOLD=${this.#options.owner}/${id}`
  }

  #folder(id: string): string {
    if (!SAFE.test(id)) throw fault('sandbox_not_found')
    return id === TRIAL ? join(this.#options.shared, TRIAL) : join(this.#options.folder, id)
  }

  #group(id: string): Group | undefined {
    return this.#options.cgroups?.group(id)
  }
}
