import { fault } from '../../api/errors.ts'
import { Recent } from '../../lib/recent.ts'
import { proxyEnv } from '../egress/environment.ts'
import type { Client } from '../egress/proxy.ts'
import { baseEnv } from '../environment.ts'
import type { Command, Order, Sandbox } from '../sandbox.ts'
import { becoming } from '../shell.ts'
import type { Group } from './cgroup.ts'
import { KILL_AFTER_MS, type Launched, LISTENING, LISTENING_SHELL, launch } from './child.ts'
import { Network } from './network.ts'
import { firstChild, signalAll, signalMarked } from './tree.ts'
import { HOME, type User } from './view.ts'
import { FILTER_FD, type Holder, NAMESPACE_FD, type Walls } from './walls.ts'

/** Where requests that leave a sandbox go. */
export interface Gate {
  serve(socket: import('node:net').Socket, client: Client): void
}

/** What all lives of a backend have in common. */
export interface Surroundings {
  user: User
  privileged: boolean
  /** The file with the kernel's filter, if there is one for this machine. */
  filter: string | undefined
  gate: Gate | undefined
  /** Tells a sandbox from all others on the machine. */
  markOf(id: string): string
  /** Something is missing that a person would want to know of. */
  onTrouble: (id: string, what: string) => void
}

/** Inside, where the way out is. Not a port that anything else is known to use. */
const PROXY_PORT = 39_128
/** Commands whose names are remembered, for those still running when they are refused something. */
const LABELS = 1_000

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
  readonly #walls: Walls
  readonly #group: Group | undefined
  readonly #network: Network
  readonly #labels = new Recent<string>(LABELS)
  /** Settled once requests can leave, or it is clear that they cannot. */
  #connected: Promise<void> = Promise.resolve()
  #over = false
  #commands = 0

  constructor(order: Order, holder: Holder, walls: Walls, group: Group | undefined, surroundings: Surroundings) {
    this.order = order
    this.holder = holder
    this.#walls = walls
    this.#group = group
    this.#surroundings = surroundings
    this.#network = new Network(intoNetwork(holder, surroundings.privileged))
  }

  get id(): string {
    return this.order.id
  }

  get workingDir(): string {
    return this.order.workingDir
  }

  /** Opens the way out. Commands wait for it; where there is none, they run without. */
  open(): void {
    const { gate, onTrouble } = this.#surroundings
    const { egress } = this.order
    if (!gate || egress.mode === 'none') return
    const client = { sandbox: this.id, egress, labelOf: (user: string) => this.#labels.get(user) }
    this.#connected = this.#network
      .listen(PROXY_PORT, socket => gate.serve(socket, client))
      .catch(error => onTrouble(this.id, error.message))
  }

  /** With `log`, the descriptor of a file, it outlives the server. */
  async exec(command: Command, log?: number): Promise<Launched> {
    await this.#connected
    if (this.#over || this.failure !== undefined) throw fault('sandbox_unavailable', this.id, 'not running')
    if (this.paused) throw fault('sandbox_unavailable', this.id, 'paused')
    this.#commands += 1
    const number = `${this.#commands}-${process.pid}`
    this.#labels.set(number, command.label ?? command.argv.join(' '))
    const script = becoming({
      ...command,
      cwd: command.cwd ?? this.workingDir,
      env: { ...this.#environment(command, number), GANTRY_EXEC: number },
      limits: this.#group ? [] : unsupervised(this.order),
    })
    const group = await this.#group?.command(number)
    const doors = group ? [...group.doors, ...this.#group!.doors.slice(1)] : []
    const { user, privileged, filter } = this.#surroundings
    const words = [`/proc/${this.holder.init}/ns/user`, filter ?? '/dev/null', `${doors.length}`, ...doors]
    const enter = this.#walls.enter(this.holder, user, privileged, filter !== undefined)
    const started = await launch(
      {
        argv: ['/bin/sh', '-c', WAY_IN, 'sh', ...words, ...enter, ...LISTENING_SHELL],
        script,
        ...(!group && { mark: this.#surroundings.markOf(this.id) }),
        ...(log !== undefined && { log }),
        signal: (name, pid) =>
          group ? signalAll(() => this.#within(group, name, pid), name) : signalMarked(`GANTRY_EXEC=${number}`, name),
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

  connect(port: number): ReturnType<Network['connect']> {
    return this.#network.connect(port)
  }

  close(): void {
    this.#over = true
    this.#network.close()
  }

  /** Those that lead to the command are spared what the command may want to answer: they tell how it ended. */
  async #within(group: Group, name: NodeJS.Signals, pid: number): Promise<number[]> {
    const pids = await group.pids()
    if (name === 'SIGKILL') return pids
    const leading = [pid]
    while (leading.length < this.#walls.leading) leading.push(await firstChild(leading.at(-1)!))
    return pids.filter(one => !leading.includes(one))
  }

  #environment({ pty, env }: Command, number: string): Record<string, string> {
    const connected = this.#surroundings.gate && this.order.egress.mode !== 'none'
    const proxy = connected ? proxyEnv(PROXY_PORT, number) : {}
    return { ...baseEnv({ home: HOME, terminal: pty !== undefined }), ...proxy, ...this.order.env, ...env }
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
