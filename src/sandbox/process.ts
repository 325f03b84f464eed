import { mkdir, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fault } from '../api/errors.ts'
import { baseEnv } from './environment.ts'
import { KILL_AFTER_MS, LISTENING, LISTENING_SHELL, launch } from './local/child.ts'
import { diskUsage, memoryUsage } from './local/measure.ts'
import { marked, signalMarked } from './local/tree.ts'
import type { Backend, Command, Order, Process, Proof, Sandbox, Sight, Usage } from './sandbox.ts'
import { becoming } from './shell.ts'

/**
 * Plain processes of the server's user: no walls at all. Files, network and every other process of that user are within reach,
 * whatever the order says. Only where nothing isolates, or when asked for by name. A command that is to have less of the network
 * is refused: whoever asks for that relies on it.
 */
export class ProcessBackend implements Backend {
  readonly name = 'process'
  readonly #folder: string
  readonly #orders = new Map<string, Order>()
  readonly #paused = new Set<string>()
  #execs = 0

  /** `folder` is where the sandboxes' own folders are. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async prove(): Promise<Proof> {
    return { isolated: false, summary: 'commands run as plain processes of this user: nothing is isolated' }
  }

  async start(order: Order): Promise<void> {
    await mkdir(this.#home(order.id), { recursive: true, mode: 0o700 })
    await mkdir(this.#inside(order), { recursive: true }).catch(error => {
      throw fault('sandbox_failed', `The working directory cannot be made: ${error.message}`)
    })
    this.#orders.set(order.id, order)
    await this.resume(order.id)
  }

  async pause(id: string): Promise<void> {
    if (!this.#orders.has(id)) return
    this.#paused.add(id)
    await signalMarked(mark(id), 'SIGSTOP')
  }

  async resume(id: string): Promise<void> {
    this.#paused.delete(id)
    await signalMarked(mark(id), 'SIGCONT')
  }

  async stop(id: string): Promise<void> {
    this.#orders.delete(id)
    this.#paused.delete(id)
    await signalMarked(mark(id), 'SIGKILL')
  }

  async remove(id: string): Promise<void> {
    await this.stop(id)
    await rm(join(this.#folder, id), { recursive: true, force: true })
  }

  async look(id: string): Promise<Sight> {
    if (this.#orders.has(id)) return { state: this.#paused.has(id) ? 'paused' : 'running' }
    return { state: (await this.list()).includes(id) ? 'stopped' : 'absent' }
  }

  async list(): Promise<string[]> {
    return readdir(this.#folder).catch(() => [])
  }

  sandbox(id: string): Sandbox {
    const order = this.#running(id)
    return {
      id,
      home: this.#home(id),
      workingDir: this.#inside(order),
      roots: [join(this.#folder, id), ...order.grants.map(({ path }) => path)],
      exec: command => this.#exec(order, command),
      connect: port => dial(port),
    }
  }

  async logs(): Promise<string> {
    return ''
  }

  async usage(id: string): Promise<Usage> {
    const pids = await marked(mark(id))
    return {
      processes: pids.length,
      memoryBytes: await memoryUsage(pids),
      diskBytes: await diskUsage(join(this.#folder, id)),
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#orders.keys()].map(id => this.stop(id)))
  }

  async #exec(order: Order, command: Command): Promise<Process> {
    this.#running(order.id)
    if (command.egress && command.egress.mode !== 'open') throw fault('egress_unsupported', order.id)
    this.#execs += 1
    const exec = `${order.id}.${this.#execs}`
    const env = {
      ...baseEnv({ home: this.#home(order.id), terminal: command.pty !== undefined }),
      ...order.env,
      ...command.env,
      GANTRY_SANDBOX: order.id,
      GANTRY_EXEC: exec,
    }
    const script = becoming({ ...command, cwd: command.cwd ?? this.#inside(order), env })
    return launch(
      {
        argv: ['/bin/sh', '-c', `exec "$@" ${LISTENING}`, 'sh', ...LISTENING_SHELL],
        script,
        signal: name => signalMarked(`GANTRY_EXEC=${exec}`, name),
        resize: async (terminal, { columns, rows }) => {
          const argv = ['stty', '-F', terminal, 'cols', `${columns}`, 'rows', `${rows}`] as const
          const resizing = await this.#exec(order, { argv, timeoutMs: KILL_AFTER_MS })
          await resizing.exit
        },
      },
      command,
    )
  }

  #running(id: string): Order {
    const order = this.#orders.get(id)
    if (!order || this.#paused.has(id)) throw fault('sandbox_unavailable', id, order ? 'paused' : 'not running')
    return order
  }

  #home(id: string): string {
    return join(this.#folder, id, 'home')
  }

  /** The host's own path stands for itself; any other is a folder of the sandbox's. */
  #inside({ id, workingDir, grants }: Order): string {
    const granted = grants.some(({ path }) => workingDir === path || workingDir.startsWith(`${path}/`))
    return granted ? workingDir : join(this.#folder, id, 'workspace')
  }
}

const mark = (id: string): string => `GANTRY_SANDBOX=${id}`

function dial(port: number): Promise<ReturnType<typeof connect>> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => reject(fault('port_closed', port)))
  })
}
