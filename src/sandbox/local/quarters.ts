import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../../api/errors.ts'
import type { Order, Usage } from '../sandbox.ts'
import type { Group } from './cgroup.ts'
import { WAY_ENV } from './child.ts'
import { diskUsage, memoryUsage, tail } from './measure.ts'
import { beneath, firstChild, holding, isHolding, signalAll, signalMarked, stateOf, stopAll } from './tree.ts'
import { furnish, type Mount, type User, viewOf } from './view.ts'
import type { Holder, Walls } from './walls.ts'

export interface QuartersParts {
  folder: string
  /** Tells it from all others on the machine. */
  mark: string
  user: User
  privileged: boolean
  /** Where groups can be made. */
  group: Group | undefined
}

/** A process that is in its groups, and then becomes its arguments. `$1` is where its id goes. */
const HOLD = `echo $$ > "$1"; n=$2; shift 2
while [ "$n" -gt 0 ]; do echo 0 > "$1"; shift; n=$((n - 1)); done; exec "$@"`
/** The first process inside: makes the working directory, says that it is there, and reaps what others leave behind. */
const INIT = `mkdir -p -- "$1" || { echo "The working directory $1 cannot be made"; exit 1; }
sleep 1000000 3>&- & echo up >&3; exec 3>&-; while :; do wait $!; sleep 1000000 & done`

/** What one sandbox is on this machine: a folder, a group, and the processes that keep it there. */
export class Quarters {
  readonly group: Group | undefined
  readonly mark: string
  readonly #parts: QuartersParts
  #known: Holder | undefined

  constructor(parts: QuartersParts) {
    this.#parts = parts
    this.group = parts.group
    this.mark = parts.mark
  }

  get log(): string {
    return join(this.#parts.folder, 'log')
  }

  /** Its processes may still be there when they are gone. */
  hasFiles(): boolean {
    return existsSync(join(this.#parts.folder, 'root'))
  }

  /** Whether an earlier life may have left something, though its first process or its files are gone. */
  wasUsed(): boolean {
    return existsSync(this.#pid)
  }

  async complaint(): Promise<string> {
    return (await tail(this.log)).trim()
  }

  /** Begins a life over the files of the earlier ones. */
  async begin(order: Order, walls: Walls, system: readonly Mount[]): Promise<ChildProcess> {
    const { folder, user, privileged } = this.#parts
    const root = join(folder, 'root')
    const own = async (path: string) => {
      if (privileged) await chown(path, user.uid, user.gid)
    }
    furnish(root, privileged ? user : undefined)
    await this.group?.make(order.limits)
    const mounts = await viewOf(root, system, order.grants, own)
    const spot = join(folder, 'spot')
    await mkdir(spot, { recursive: true })
    const plan = { mounts, user, spot, privileged, init: ['/bin/sh', '-c', INIT, 'sh', order.workingDir] }
    const doors = this.group?.doors ?? []
    const words = [this.#pid, `${doors.length}`, ...doors, ...walls.build(plan)]
    const file = await open(this.log, 'a', 0o600)
    const child = spawn('/bin/sh', ['-c', HOLD, 'sh', ...words], {
      cwd: '/',
      env: { ...WAY_ENV, GANTRY_HOLD: this.mark },
      stdio: ['ignore', file.fd, file.fd, 'pipe'],
      detached: true,
    })
    child.unref()
    child.once('error', () => undefined)
    await file.close()
    return child
  }

  /** The first process has said that it is there, or the chain of programs broke. */
  async up(child: ChildProcess, signal?: AbortSignal): Promise<Holder> {
    const pipe = child.stdio[3] as Readable
    const exited = once(child, 'exit').then(([code, by]) => code ?? by)
    const up = await Promise.race([once(pipe, 'data', { signal }).then(() => true), exited]).finally(() =>
      pipe.destroy(),
    )
    if (up !== true)
      throw fault('sandbox_failed', `It ended with exit code ${up} while starting. ${await this.complaint()}`)
    this.#known = { outer: child.pid!, init: await firstChild(child.pid!) }
    return this.#known
  }

  /** A life that was not finished: it may not have come as far as its group, or as the file that names it. */
  async abandon(child: ChildProcess): Promise<void> {
    child.kill('SIGKILL')
    await signalMarked(`GANTRY_HOLD=${this.mark}`, 'SIGKILL')
    await this.end()
  }

  /** The processes that keep it there, when they do. */
  async holder(): Promise<Holder | undefined> {
    if (this.#known && (await this.#holds(this.#known.outer))) return this.#known
    const outer = Number(await readFile(this.#pid, 'latin1').catch(() => '0'))
    if (!outer || !(await this.#holds(outer))) return undefined
    return { outer, init: await firstChild(outer) }
  }

  async freeze(holder: Holder): Promise<void> {
    if (this.group) return this.group.freeze(true)
    // First who leads inside: nobody enters any more then, and none of them can stop by itself for what it sees stopping there.
    await stopAll(() => this.#ways())
    await stopAll(() => beneath(holder.init))
  }

  async thaw(holder: Holder): Promise<void> {
    if (this.group) await this.group.freeze(false)
    else await this.#signal(holder, 'SIGCONT')
  }

  async isFrozen(holder: Holder): Promise<boolean> {
    return this.group ? this.group.isFrozen() : (await stateOf(holder.init)) === 'T'
  }

  /** Ends every process of it, whoever started them. */
  async end(): Promise<void> {
    const holder = await this.holder()
    this.#known = undefined
    // A child that is not there yet has the number 0, which to the kernel means everybody in our own process group.
    for (const pid of holder ? [holder.init, holder.outer].filter(pid => pid > 0) : [])
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended meanwhile.
      }
    if (this.group) await this.group.kill()
    else {
      await this.#signal(holder, 'SIGKILL')
      await signalMarked(`GANTRY_HOLD=${this.mark}`, 'SIGKILL')
    }
    for (let wait = 0.5; holder && (await this.#holds(holder.outer)); wait = Math.min(wait * 2, 20)) await delay(wait)
    await this.group?.remove()
    await rm(this.#pid, { force: true })
  }

  async erase(): Promise<void> {
    const { folder } = this.#parts
    await rm(folder, { recursive: true, force: true }).catch(async () => {
      // The owner of a folder may have closed it to themselves.
      await once(spawn('chmod', ['-R', 'u+rwX', '--', folder], { stdio: 'ignore' }), 'exit')
      await rm(folder, { recursive: true, force: true })
    })
  }

  async usage(): Promise<Usage> {
    const holder = await this.holder()
    const pids = holder ? await (this.group?.pids() ?? beneath(holder.init)) : []
    const [memoryBytes, diskBytes] = await Promise.all([
      this.group?.memoryBytes() ?? memoryUsage(pids),
      diskUsage(this.#parts.folder),
    ])
    return { processes: pids.length, memoryBytes: memoryBytes ?? 0, diskBytes }
  }

  /** Those that lead inside and wait for what they led there, which are outside themselves. */
  async #ways(): Promise<number[]> {
    return (await holding(`GANTRY_WAY=${this.mark}`)).filter(({ rest }) => rest === '').map(({ pid }) => pid)
  }

  /** Without a group: what is inside, and what leads there, which would stop by itself if it found that stopped. */
  async #signal(holder: Holder | undefined, name: NodeJS.Signals): Promise<void> {
    if (holder) await signalAll(() => beneath(holder.init), name)
    await signalMarked(`GANTRY_WAY=${this.mark}`, name)
  }

  #holds(outer: number): Promise<boolean> {
    return isHolding(outer, `GANTRY_HOLD=${this.mark}`)
  }

  get #pid(): string {
    return join(this.#parts.folder, 'pid')
  }
}
