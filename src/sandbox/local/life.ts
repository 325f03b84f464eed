import { fault } from '../../api/errors.ts'
import { baseEnv } from '../environment.ts'
import type { Command, Order, Sandbox } from '../sandbox.ts'
import { becoming } from '../shell.ts'
import type { Group } from './cgroup.ts'
import { KILL_AFTER_MS, type Launched, LISTENING, LISTENING_SHELL, launch } from './child.ts'
import { type Gate, Outlet } from './outlet.ts'
import { firstChild, signalAll, signalMarked } from './tree.ts'
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
  #commands = 0

  constructor(order: Order, holder: Holder, entrance: Entrance, surroundings: Surroundings) {
    this.order = order
    this.holder = holder
    this.#entrance = entrance
    this.#surroundings = surroundings
    this.#outlet = new Outlet(intoNetwork(holder, surroundings.privileged), order, surroundings.gate)
  }

  get id(): string {
    return this.order.id
  }

  get workingDir(): string {
    return this.order.workingDir
  }

  /** Opens its way out. */
  open(): void {
    this.#outlet.open(what => this.#surroundings.onTrouble(this.id, what))
  }

  /** With `log`, the descriptor of a file, it outlives the server. */
  async exec(command: Command, log?: number): Promise<Launched> {
    this.#commands += 1
    const number = `${this.#commands}-${process.pid}`
    // Of all sandboxes of the machine: their numbers are the same, and so is their user.
    const mark = `${this.#entrance.mark}/${number}`
    const proxy = await this.#outlet.admit(number, command)
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
    const group = this.#entrance.group?.command(number)
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
        signal: (name, pid) =>
          !group
            ? signalMarked(`GANTRY_EXEC=${mark}`, name)
            : name === 'SIGKILL'
              ? group.kill()
              : signalAll(() => this.#within(group, pid), name),
        resize: async (terminal, { columns, rows }) => {
          const argv = ['stty', '-F', terminal, 'cols', `${columns}`, 'rows', `${rows}`] as const
          await (await this.exec({ argv, timeoutMs: KILL_AFTER_MS })).exit
        },
      },
      command,
    )
    // What it left in the background keeps the group until the sandbox ends.
    void started.exit.then(() => group?.remove())
    const exit = started.exit.then(exit =>
      this.#over && exit.reason === 'exited' ? { ...exit, reason: 'lost' as const } : exit,
    )
    return { ...started, exit }
  }

  connect(port: number): ReturnType<Outlet['connect']> {
    return this.#outlet.connect(port)
  }

  close(): void {
    this.#over = true
    this.#outlet.close()
  }

  /** Those that lead to the command are spared what the command may want to answer: they tell how it ended. */
  async #within(group: Group, pid: number): Promise<number[]> {
    const pids = await group.pids()
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
