import { fault } from '../../api/errors.ts'
import { newId } from '../../lib/id.ts'
import { baseEnv } from '../environment.ts'
import type { Command, Order, Sandbox } from '../sandbox.ts'
import { becoming } from '../shell.ts'
import type { Group } from './cgroup.ts'
import { KILL_AFTER_MS, type Launched, LISTENING, LISTENING_SHELL, launch } from './child.ts'
import { type Gate, Outlet } from './outlet.ts'
import { firstChild, marked, signalAll, signalMarked } from './tree.ts'
import { HOME, type User } from './view.ts'
import { FILTER_FD, type Holder, NAMESPACE_FD, type Walls } from './walls.ts'

/** What all lives of a backend have in common. */
export interface Surroundings {
  user: User
  privileged: boolean
  /** The file with the kernel's filter, if there is one for this machine. */
  filter: string | undefined
  gate: Gate | undefined
  /** Something is missing that a person would want to know of. */
  onTrouble: (id: string, what: string) => void
}

/** What leads into one. */
export interface Entrance {
  walls: Walls
  group: Group | undefined
  /** Tells it from all others on the machine. */
  mark: string
}

/** A process that is in its groups, has what the way in needs open, and then becomes its arguments. */
const WAY_IN = `ns=$1 filter=$2 n=$3; shift 3
while [ "$n" -gt 0 ]; do echo 0 > "$1"; shift; n=$((n - 1)); done; exec "$@" ${NAMESPACE_FD}<"$ns" ${FILTER_FD}<"$filter" ${LISTENING}`

/** A sandbox from the moment its first process is there until that process is gone. */
export class Life implements Sandbox {
  readonly holder: Holder
  readonly home = HOME
  order: Order
  /** Why it ended, when nobody had asked it to. */
  failure: string | undefined
  paused = false
  readonly #surroundings: Surroundings
  readonly #entrance: Entrance
  readonly #outlet: Outlet
  #over = false

  constructor(order: Order, holder: Holder, entrance: Entrance, surroundings: Surroundings) {
    this.order = order
    this.holder = holder
    this.#entrance = entrance
    this.#surroundings = surroundings
    const enter = intoNetwork(holder, surroundings.privileged)
    this.#outlet = new Outlet({ enter, order, gate: surroundings.gate, mark: entrance.mark })
  }

  get id(): string {
    return this.order.id
  }

  get workingDir(): string {
    return this.order.workingDir
  }

  /** Opens its way out. `takenOver`: an earlier server's commands may run in it. */
  open({ takenOver }: { takenOver: boolean }): void {
    this.#outlet.open({ takenOver, onTrouble: what => this.#surroundings.onTrouble(this.id, what) })
  }

  /** With `log`, the descriptor of a file, it outlives the server. */
  async exec(command: Command, log?: number): Promise<Launched> {
    const pass = await this.#outlet.admit(command)
    try {
      const { group, mark, ...started } = await this.#launch(command, pass.env, log)
      const remains = async () => (await (group ? group.pids() : marked(mark))).length > 0
      const exit = started.exit.then(exit => {
        pass.leave(remains)
        // What it left in the background keeps the group until the sandbox ends.
        void group?.remove()
        return this.#over && exit.reason === 'exited' ? { ...exit, reason: 'lost' as const } : exit
      })
      return { ...started, exit }
    } catch (error) {
      pass.leave(async () => false)
      throw error
    }
  }

  connect(port: number): ReturnType<Outlet['connect']> {
    return this.#outlet.connect(port)
  }

  close(): void {
    this.#over = true
    this.#outlet.close()
  }

  async #launch(command: Command, proxy: Record<string, string>, log?: number) {
    // Nobody's before, whichever server it was: what that one left may still run.
    const name = newId()
    const mark = `${this.#entrance.mark}/${name}`
    if (this.#over || this.failure !== undefined) throw fault('sandbox_unavailable', this.id, 'not running')
    if (this.paused) throw fault('sandbox_unavailable', this.id, 'paused')
    const script = becoming({
      ...command,
      cwd: command.cwd ?? this.workingDir,
      env: {
        ...baseEnv({ home: HOME, terminal: command.pty !== undefined }),
        ...proxy,
        ...this.order.env,
        ...command.env,
        GANTRY_EXEC: mark,
      },
      limits: this.#entrance.group ? [] : unsupervised(this.order),
    })
    const group = this.#entrance.group?.command(name)
    const doors = group ? [...group.doors, ...this.#entrance.group!.doors.slice(1)] : []
    const { user, privileged, filter } = this.#surroundings
    const words = [`/proc/${this.holder.init}/ns/user`, filter ?? '/dev/null', `${doors.length}`, ...doors]
    const enter = this.#entrance.walls.enter(this.holder, user, privileged, filter !== undefined)
    const started = await launch(
      {
        argv: ['/bin/sh', '-c', WAY_IN, 'sh', ...words, ...enter, ...LISTENING_SHELL],
        script,
        ...(!group && { mark: this.#entrance.mark }),
        ...(log !== undefined && { log }),
        signal: async (name, pid) => {
          if (name !== 'SIGKILL')
            return group ? signalAll(() => this.#within(group, pid), name) : signalMarked(`GANTRY_EXEC=${mark}`, name)
          // Who leads to it stops when it does, as it has to before it is killed, and would never see it end.
          if (!group) return signalMarked(`GANTRY_EXEC=${mark}`, name, pid)
          // It may not have come as far as its group: held, it comes no further. Killed first, its end would be the end of the
          // command's input, on which that could still act.
          const way = async () => (pid === undefined ? [] : [pid])
          await signalAll(way, 'SIGSTOP')
          await group.kill()
          await signalAll(way, name)
        },
        resize: async (terminal, { columns, rows }) => {
          const argv = ['stty', '-F', terminal, 'cols', `${columns}`, 'rows', `${rows}`] as const
          await (await this.exec({ argv, timeoutMs: KILL_AFTER_MS })).exit
        },
      },
      command,
    )
    return { ...started, group, mark: `GANTRY_EXEC=${mark}` }
  }

  /** Those that lead to the command are spared what the command may want to answer: they tell how it ended. */
  async #within(group: Group, pid: number | undefined): Promise<number[]> {
    const pids = await group.pids()
    if (pid === undefined) return pids
    const leading = [pid]
    while (leading.length < this.#entrance.walls.leading) leading.push(await firstChild(leading.at(-1)!))
    return pids.filter(one => !leading.includes(one))
  }
}

/** Into its network and no other of its namespaces. */
const intoNetwork = ({ outer, init }: Holder, privileged: boolean): [string, ...string[]] => {
  const rights = privileged ? [] : [`--user=/proc/${outer}/ns/user`, '--preserve-credentials']
  return ['nsenter', `--target=${init}`, '--net', ...rights, '--']
}

/** What a shell can limit where no group does: processes of the sandbox together, and the size of each file. */
const unsupervised = ({ limits }: Order): string[] => [
  `ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes}`,
  `ulimit -f ${Math.ceil(limits.diskBytes / 512)}`,
]
