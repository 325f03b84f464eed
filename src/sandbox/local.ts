import { createHash } from 'node:crypto'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../api/errors.ts'
import { Turns } from '../lib/turns.ts'
import { bubblewrap } from './local/bubblewrap.ts'
import type { Cgroups } from './local/cgroup.ts'
import { Life } from './local/life.ts'
import { foldersIn, tail } from './local/measure.ts'
import type { Gate } from './local/outlet.ts'
import { Quarters } from './local/quarters.ts'
import { seccompFilter } from './local/seccomp.ts'
import { holding } from './local/tree.ts'
import { utilLinux } from './local/util-linux.ts'
import { type Mount, systemView, type User } from './local/view.ts'
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
const TRIAL: Order = {
  id: 'trial',
  workingDir: '/workspace',
  env: {},
  limits: { memoryBytes: 256e6, processes: 64, cpus: 1, diskBytes: 1e9 },
  egress: { mode: 'none' },
  grants: [],
}

/** Ids become paths, and names of groups. */
const SAFE = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** How long a sandbox that is tried may take to run a command: it does nothing else meanwhile. */
const PROBE_MS = 5_000

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
  /** Of all that were ever asked for: an earlier server's too, which nobody has taken over. */
  readonly #quarters = new Map<string, Quarters>()
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
    if (program && filter && !(await readFile(filter).catch(() => undefined))?.equals(program))
      await writeFile(filter, program)
    return new LocalBackend(options, filter, systemView(join(options.shared, 'etc'), options.user))
  }

  async prove(signal?: AbortSignal): Promise<Proof> {
    const reasons: string[] = []
    for (const walls of this.#options.walls ?? [bubblewrap, utilLinux]) {
      this.#walls = walls
      try {
        await this.start(TRIAL, signal)
        await this.#probe(this.#lives.get(TRIAL.id)!)
        // Nobody has to wait for its end: `close` does.
        void this.stop(TRIAL.id).catch(() => undefined)
        return { isolated: true, summary: `commands run in namespaces made by ${walls.name}` }
      } catch (error) {
        reasons.push(`${walls.name}: ${(error as Error).message}`)
        await this.stop(TRIAL.id)
      }
    }
    return { isolated: false, summary: `nothing isolates here: ${reasons.join('; ')}` }
  }

  start(order: Order, signal?: AbortSignal): Promise<void> {
    return this.#turns.take(order.id, () => this.#start(order, signal))
  }

  pause(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      const quarters = this.#of(id)
      const holder = await quarters.holder()
      if (!holder) return
      const life = this.#lives.get(id)
      if (life) life.paused = true
      await quarters.freeze(holder)
    })
  }

  resume(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#resume(id))
  }

  stop(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#stop(id))
  }

  remove(id: string): Promise<void> {
    return this.#turns.take(id, async () => {
      await this.#stop(id)
      await this.#of(id).erase()
      this.#quarters.delete(id)
    })
  }

  async look(id: string): Promise<Sight> {
    const quarters = this.#of(id)
    const holder = await quarters.holder()
    if (holder && quarters.hasFiles()) return { state: (await quarters.isFrozen(holder)) ? 'paused' : 'running' }
    const failure = this.#lives.get(id)?.failure
    return { state: quarters.hasFiles() ? 'stopped' : 'absent', ...(failure !== undefined && { failure }) }
  }

  async list(): Promise<string[]> {
    const { folder, cgroups, owner } = this.#options
    const held = (await holding(`GANTRY_HOLD=${owner}/`)).map(({ rest }) => rest)
    const ids = [...(await foldersIn(folder)), ...((await cgroups?.list()) ?? []), ...held]
    return [...new Set(ids)].filter(id => SAFE.test(id) && id !== TRIAL.id)
  }

  sandbox(id: string): Sandbox {
    const life = this.#lives.get(id)
    if (!life || life.failure !== undefined) throw fault('sandbox_unavailable', id, 'not running')
    return life
  }

  async logs(id: string): Promise<string> {
    return tail(this.#of(id).log)
  }

  usage(id: string): Promise<Usage> {
    return this.#of(id).usage()
  }

  /** No process stays behind; files do. */
  async close(): Promise<void> {
    await Promise.all([...this.#quarters.keys()].map(id => this.stop(id)))
    await this.#options.cgroups?.close()
  }

  async #start(order: Order, signal?: AbortSignal): Promise<void> {
    const quarters = this.#of(order.id)
    const holder = await quarters.holder()
    if (holder && quarters.hasFiles() && (await this.#takeOver(order, holder))) return
    if (holder || quarters.wasUsed()) await this.#stop(order.id)
    const child = await quarters.begin(order, this.#walls, this.#system)
    try {
      const life = this.#live(order, await quarters.up(child, signal))
      child.once('exit', code => this.#ended(life, `It ended with exit code ${code}.`))
      life.open({ takenOver: false })
      if (order.command) await this.#command(life, order.command)
    } catch (error) {
      await quarters.abandon(child)
      await this.#stop(order.id)
      throw error
    }
  }

  /** False when it was never finished or is about to end: whoever built it may have been killed at any moment. */
  async #takeOver(order: Order, holder: Holder): Promise<boolean> {
    await this.#resume(order.id)
    const known = this.#lives.get(order.id)
    if (known?.holder.outer === holder.outer && known.failure === undefined) {
      known.order = order
      return true
    }
    const life = this.#live(order, holder)
    return this.#probe(life).then(
      () => {
        life.open({ takenOver: true })
        return true
      },
      () => false,
    )
  }

  async #probe(life: Life): Promise<void> {
    const { code, stderr } = await run(life, { argv: ['true'], cwd: '/', timeoutMs: PROBE_MS }, { limit: 4096 })
    if (code !== 0) throw new Error(`a command ended with exit code ${code}: ${stderr}`)
  }

  async #resume(id: string): Promise<void> {
    const quarters = this.#of(id)
    const holder = await quarters.holder()
    if (!holder) return
    await quarters.thaw(holder)
    const life = this.#lives.get(id)
    if (life) life.paused = false
  }

  async #stop(id: string): Promise<void> {
    this.#lives.get(id)?.close()
    this.#lives.delete(id)
    await this.#of(id).end()
  }

  #live(order: Order, holder: Holder): Life {
    const { user, privileged, gate, onTrouble = () => undefined } = this.#options
    this.#lives.get(order.id)?.close()
    const { group, mark } = this.#of(order.id)
    const surroundings = { user, privileged, filter: this.#filter, gate, onTrouble }
    const life = new Life(order, holder, { walls: this.#walls, group, mark }, surroundings)
    this.#lives.set(order.id, life)
    return life
  }

  /** What the order has run from the start. When it ends, so does the sandbox. */
  async #command(life: Life, [program, ...words]: readonly string[]): Promise<void> {
    const quarters = this.#of(life.id)
    const file = await open(quarters.log, 'a', 0o600)
    const main = await life.exec({ argv: [program!, ...words] }, file.fd).finally(() => file.close())
    const ended = main.exit.then(async ({ code }) => {
      if (!(await this.#blame(life, `Its command ended with exit code ${code}.`))) return
      await quarters.end()
      this.#options.onEnd?.(life.id)
    })
    await main.begun
    await Promise.race([ended, delay(COMMAND_MS)])
    if (life.failure === undefined) return
    // Its last words may still be on their way.
    await ended
    throw fault('sandbox_failed', life.failure)
  }

  async #ended(life: Life, how: string): Promise<void> {
    if (await this.#blame(life, how)) this.#options.onEnd?.(life.id)
  }

  /** False when it was told to end, or a reason is known already. */
  async #blame(life: Life, how: string): Promise<boolean> {
    if (this.#lives.get(life.id) !== life || life.failure !== undefined) return false
    life.failure = how
    life.failure = `${how} ${await this.#of(life.id).complaint()}`.trim()
    return true
  }

  #of(id: string): Quarters {
    if (!SAFE.test(id)) throw fault('sandbox_not_found')
    const { folder, shared, owner, user, privileged, cgroups } = this.#options
    return this.#quarters.getOrInsertComputed(id, () => {
      const place = join(id === TRIAL.id ? shared : folder, id)
      return new Quarters({ folder: place, mark: `${owner}/${id}`, user, privileged, group: cgroups?.group(id) })
    })
  }
}
