import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { MCPServer } from '../../api/mcp.ts'
import { drained } from '../../sandbox/run.ts'
import type { Exit, Process } from '../../sandbox/sandbox.ts'
import { briefly, Failure } from './failure.ts'
import { CLOSE_MS, COMPLAINT_CHARACTERS, MESSAGE_BYTES, UNREAD_BYTES } from './limits.ts'
import { Pace } from './pace.ts'
import type { Surroundings } from './session.ts'

const NEWLINE = 10

/** A server that runs where the hands are: a message a line. What it prints beside messages is kept for the day it fails. */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #name: string
  readonly #server: MCPServer
  readonly #around: Surroundings
  readonly #stop = new AbortController()
  readonly #timers = new Set<NodeJS.Timeout>()
  #starting: Promise<Process> | undefined
  #process: Process | undefined
  #over: Promise<void> | undefined
  #partial: Buffer[] = []
  #partialBytes = 0
  #complaint = ''
  #failure: Failure | undefined
  #closed = false

  constructor(name: string, server: MCPServer, around: Surroundings) {
    this.#name = name
    this.#server = server
    this.#around = around
  }

  /** Why it ended, should it not have been told to. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** What it last printed that was no message. */
  get complaint(): string {
    return briefly(this.#complaint)
  }

  async start(): Promise<void> {
    const { sandbox, workingDir, egress } = this.#around
    const { command, args, cwd, env } = this.#server
    const hands = await sandbox()
    this.#stop.signal.throwIfAborted()
    this.#starting = hands.exec({
      argv: [command!, ...(args ?? [])],
      cwd: posix.resolve(workingDir, cwd ?? '.'),
      env: env ?? {},
      stdin: true,
      signal: this.#stop.signal,
      label: `MCP server ${this.#name}`,
      ...(egress && { egress }),
    })
    const started = await this.#starting
    this.#process = started
    started.stdin?.on('error', () => undefined)
    this.#follow(started.stdout, chunk => this.#read(chunk))
    this.#follow(started.stderr, chunk => {
      this.#heard(chunk.toString())
      return 0
    })
    this.#over = this.#await(started)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin
    if (this.#stop.signal.aborted || !stdin?.writable) throw this.#failure ?? new Failure('connection', 'it has ended')
    if (stdin.writableLength > UNREAD_BYTES) {
      this.#cut('it does not read what it is sent')
      throw this.#failure
    }
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Resolves when it has ended, with all that it started; or in time should it be frozen with its sandbox, to end when that wakes. */
  async close(): Promise<void> {
    this.#stop.abort()
    const over = this.#starting?.then(() => this.#over).catch(() => undefined)
    await Promise.race([over, delay(CLOSE_MS, undefined, { ref: false })])
    this.#end()
  }

  /** Hands over what comes of a stream, at the pace that is allowed. `take` tells how many messages were in it. */
  #follow(stream: Readable, take: (chunk: Buffer) => number): void {
    const pace = new Pace()
    stream.on('data', (chunk: Buffer) => {
      if (this.#stop.signal.aborted) return
      const wait = pace.take(take(chunk), chunk.length)
      if (wait === 0) return
      stream.pause()
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        stream.resume()
      }, wait)
      this.#timers.add(timer)
    })
  }

  #read(chunk: Buffer): number {
    let messages = 0
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...this.#partial, chunk.subarray(from, to)]).toString()
      this.#partial = []
      this.#partialBytes = 0
      from = to + 1
      messages += 1
      this.#line(line)
    }
    if (from < chunk.length) {
      this.#partial.push(chunk.subarray(from))
      this.#partialBytes += chunk.length - from
    }
    if (this.#partialBytes > MESSAGE_BYTES) this.#cut(`it sent a message of more than ${MESSAGE_BYTES / 1e6} MB`)
    return messages
  }

  /** Whether it is a message of the protocol, the client decides. */
  #line(line: string): void {
    if (line.trim() === '') return
    let message: JSONRPCMessage | undefined
    try {
      message = JSON.parse(line)
    } catch {
      this.#heard(`${line}\n`)
    }
    if (isMessage(message)) this.onmessage?.(message)
  }

  #heard(text: string): void {
    this.#complaint = `${this.#complaint}${text.slice(-COMPLAINT_CHARACTERS)}`.slice(-COMPLAINT_CHARACTERS)
  }

  #cut(why: string): void {
    this.#failure ??= new Failure('connection', why)
    this.#partial = []
    this.#stop.abort()
  }

  async #await(started: Process): Promise<void> {
    await Promise.all([drained(started, started.stdout), drained(started, started.stderr)])
    const exit = await started.exit
    if (!this.#stop.signal.aborted) this.#failure ??= new Failure('connection', ending(exit, this.complaint))
    // What it left in the background would otherwise outlive it.
    this.#stop.abort()
    await started.signal('SIGKILL').catch(() => undefined)
    this.#end()
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.onclose?.()
  }
}

const isMessage = (value: unknown): value is JSONRPCMessage =>
  typeof value === 'object' && value !== null && (value as { jsonrpc?: unknown }).jsonrpc === '2.0'

function ending({ code, reason }: Exit, complaint: string): string {
  const how = reason === 'lost' ? 'its sandbox went away' : `it ended with exit code ${code}`
  return complaint ? `${how}: ${complaint}` : how
}
