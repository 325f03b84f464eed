import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { fault } from '../../api/errors.ts'
import { WAY_ENV } from './child.ts'
import type { Answer, Request } from './doorman.ts'

const DOORMAN = fileURLToPath(new URL('./doorman.ts', import.meta.url))

/** A doorman costs some memory and 40 ms to call: it stays while it may be needed again. */
const IDLE_MS = 60_000
const CONNECT_MS = 5_000

interface Waiting {
  doorman: ChildProcess
  resolve(socket: Socket): void
  reject(error: Error): void
}

/**
 * The network of one sandbox, which has nothing but its own loopback. Sockets are made inside it by a doorman, a short-lived
 * process of the server's that stands in that network alone.
 */
export class Network {
  readonly #enter: readonly [string, ...string[]]
  #doorman: ChildProcess | undefined
  #listener: Server | undefined
  #idle: NodeJS.Timeout | undefined
  #tickets = 0
  readonly #waiting = new Map<number, Waiting>()

  /** The words that lead into the network, before those of a command. */
  constructor(enter: readonly [string, ...string[]]) {
    this.#enter = enter
  }

  /** Has everything that connects to this port inside handed out. */
  async listen(port: number, serve: (socket: Socket) => void): Promise<void> {
    const doorman = this.#call()
    const request: Request = { listen: port }
    doorman.send(request)
    const [answer, handle] = (await Promise.race([
      once(doorman, 'message'),
      once(doorman, 'exit').then(([code]) => [{ failed: `the doorman ended with ${code}` }]),
    ])) as [Answer, Server | undefined]
    if ('failed' in answer || !handle)
      throw fault('sandbox_failed', `No network: ${'failed' in answer && answer.failed}`)
    this.#listener = handle
    handle.on('connection', serve)
    handle.on('error', () => undefined)
    handle.unref()
    this.#dismiss()
  }

  async connect(port: number): Promise<Socket> {
    const doorman = this.#call()
    this.#tickets += 1
    const ticket = this.#tickets
    const socket = new Promise<Socket>((resolve, reject) => {
      this.#waiting.set(ticket, { doorman, resolve, reject })
      setTimeout(() => reject(fault('port_closed', port)), CONNECT_MS).unref()
    })
    const request: Request = { connect: port, ticket }
    doorman.send(request)
    return socket
      .catch(() => {
        throw fault('port_closed', port)
      })
      .finally(() => this.#waiting.delete(ticket))
  }

  close(): void {
    this.#dismiss()
    this.#listener?.close()
  }

  #call(): ChildProcess {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#dismiss(), IDLE_MS)
    if (this.#doorman) return this.#doorman
    const [command, ...words] = this.#enter
    const doorman = spawn(command, [...words, process.execPath, DOORMAN], {
      cwd: '/',
      env: WAY_ENV,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    doorman.on('message', (answer: Answer, handle) => {
      const waiting = 'ticket' in answer && answer.ticket !== undefined ? this.#waiting.get(answer.ticket) : undefined
      if (!waiting) (handle as Socket | undefined)?.unref()
      else if ('failed' in answer) waiting.reject(new Error(answer.failed))
      else waiting.resolve(handle as Socket)
    })
    const gone = () => {
      if (this.#doorman === doorman) this.#doorman = undefined
      // One that was let go may end while the next has been called already.
      for (const waiting of this.#waiting.values())
        if (waiting.doorman === doorman) waiting.reject(new Error('the doorman is gone'))
    }
    doorman.once('exit', gone)
    doorman.once('error', gone)
    this.#doorman = doorman
    return doorman
  }

  #dismiss(): void {
    clearTimeout(this.#idle)
    if (this.#doorman?.connected) this.#doorman.disconnect()
    this.#doorman = undefined
  }
}
