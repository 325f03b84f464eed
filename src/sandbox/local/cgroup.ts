import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Limits } from '../sandbox.ts'

/**
 * Control groups, where this server may make any: as root, or where its own group was delegated to it. The unified hierarchy freezes
 * and kills; memory, processes and processor time are limited by it too or, on machines that still split them, by the old ones.
 */
export class Cgroups {
  readonly #unified: string
  /** Folders of the old hierarchies by controller, where the unified one has not got it. */
  readonly #old: Map<string, string>

  private constructor(unified: string, old: Map<string, string>) {
    this.#unified = unified
    this.#old = old
  }

  /**
   * Undefined where none can be made. `name` is the folder all of this server's groups lie in. A dozen calls to the kernel: from another
   * thread each would take longer to come back than to be done.
   */
  static find(name: string): Cgroups | undefined {
    const mounts = at('/proc/self/mounts')
      .split('\n')
      .map(line => line.split(' '))
    const unified = mounts.find(([, , type]) => type === 'cgroup2')?.[1]
    if (!unified) return undefined
    const own = /^0::(\/.*)$/m.exec(at('/proc/self/cgroup'))?.[1] ?? '/'
    for (const parent of [unified, join(unified, own)]) {
      const folder = join(parent, name)
      if (!tried(() => mkdirSync(folder, { recursive: true }))) continue
      if (!tried(() => accessSync(join(folder, 'cgroup.kill'), constants.W_OK))) continue
      for (const enabling of [parent, folder])
        for (const controller of CONTROLLERS)
          tried(() => writeFileSync(join(enabling, 'cgroup.subtree_control'), `+${controller}`))
      const enabled = at(join(folder, 'cgroup.subtree_control')).trim().split(' ')
      const old = new Map<string, string>()
      for (const controller of CONTROLLERS.filter(one => !enabled.includes(one))) {
        const mount = mounts.find(
          ([, , type, options]) => type === 'cgroup' && options?.split(',').includes(controller),
        )
        const split = mount && join(mount[1]!, name)
        if (split && tried(() => mkdirSync(split, { recursive: true }))) old.set(controller, split)
      }
      return new Cgroups(folder, old)
    }
    return undefined
  }

  /** What is limited for whoever is in a group. */
  async limits(): Promise<string[]> {
    const enabled = (await text(join(this.#unified, 'cgroup.subtree_control'))).trim().split(' ')
    return CONTROLLERS.filter(one => enabled.includes(one) || this.#old.has(one))
  }

  group(id: string): Group {
    return new Group(
      join(this.#unified, id),
      new Map([...this.#old].map(([controller, folder]) => [controller, join(folder, id)])),
    )
  }

  async list(): Promise<string[]> {
    return foldersIn(this.#unified)
  }

  async close(): Promise<void> {
    for (const folder of [this.#unified, ...this.#old.values()]) await rmdir(folder).catch(() => undefined)
  }
}

const CONTROLLERS = ['memory', 'pids', 'cpu']

/** How long the kernel may take to stop or end what is in a group. */
const SETTLE_MS = 5_000

export class Group {
  readonly #unified: string
  readonly #old: Map<string, string>

  constructor(unified: string, old: Map<string, string>) {
    this.#unified = unified
    this.#old = old
  }

  async make({ memoryBytes, processes, cpus }: Limits): Promise<void> {
    await Promise.all([this.#unified, ...this.#old.values()].map(folder => mkdir(folder, { recursive: true })))
    const unified = (file: string, value: string) => set(join(this.#unified, file), value)
    const old = (controller: string, file: string, value: string) => {
      const folder = this.#old.get(controller)
      return folder === undefined ? undefined : set(join(folder, file), value)
    }
    await Promise.all([
      unified('memory.max', `${memoryBytes}`),
      unified('memory.swap.max', '0'),
      unified('memory.oom.group', '0'),
      unified('pids.max', `${processes}`),
      unified('cpu.max', `${Math.round(cpus * 100_000)} 100000`),
      old('memory', 'memory.limit_in_bytes', `${memoryBytes}`),
      old('pids', 'pids.max', `${processes}`),
      old('cpu', 'cpu.cfs_quota_us', `${Math.round(cpus * 100_000)}`),
    ])
  }

  /** Files to which a process writes `0` to be inside. */
  get doors(): string[] {
    return [this.#unified, ...this.#old.values()].map(folder => join(folder, 'cgroup.procs'))
  }

  async freeze(frozen: boolean): Promise<void> {
    await writeFile(join(this.#unified, 'cgroup.freeze'), frozen ? '1' : '0')
    await this.#until(`frozen ${frozen ? 1 : 0}`)
  }

  async isFrozen(): Promise<boolean> {
    return (await text(join(this.#unified, 'cgroup.freeze'))).trim() === '1'
  }

  /** All at once: nothing can fork its way out. */
  async kill(): Promise<void> {
    await set(join(this.#unified, 'cgroup.kill'), '1')
    await set(join(this.#unified, 'cgroup.freeze'), '0')
    await this.#until('populated 0')
  }

  async pids(): Promise<number[]> {
    const folders = ['', ...(await foldersIn(this.#unified))]
    const lists = await Promise.all(folders.map(name => text(join(this.#unified, name, 'cgroup.procs'))))
    return lists.flatMap(list => list.split('\n').filter(Boolean).map(Number))
  }

  async memoryBytes(): Promise<number | undefined> {
    const old = this.#old.get('memory')
    const used = Number(await text(old ? join(old, 'memory.usage_in_bytes') : join(this.#unified, 'memory.current')))
    return used || undefined
  }

  /** Of one command: what it starts is in it for good, whatever it forks or forgets. */
  command(name: string): Group {
    const folder = join(this.#unified, name)
    mkdirSync(folder)
    return new Group(folder, new Map())
  }

  /** What is in it still keeps it: false then. */
  async remove(): Promise<boolean> {
    for (const name of await foldersIn(this.#unified)) await rmdir(join(this.#unified, name)).catch(() => undefined)
    for (const folder of [...this.#old.values(), this.#unified]) await rmdir(folder).catch(() => undefined)
    return !(await writable(this.#unified))
  }

  async #until(line: string): Promise<void> {
    const end = Date.now() + SETTLE_MS
    for (let wait = 0.2; Date.now() < end; wait = Math.min(wait * 2, 20)) {
      const events = await text(join(this.#unified, 'cgroup.events'))
      if (events === '' || events.split('\n').includes(line)) return
      await delay(wait)
    }
  }
}

function tried(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}
function at(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
const foldersIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(() => []))
    .filter(entry => entry.isDirectory())
    .map(entry => entry.name)
const text = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')
/** A file that is not there has nothing to say about this kernel. */
const set = (path: string, value: string): Promise<void> => writeFile(path, value).catch(() => undefined)
const writable = (path: string): Promise<boolean> =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
