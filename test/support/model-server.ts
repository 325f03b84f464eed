import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import { faultOf, type Turn } from './model-turns.ts'
import { full, type Protocol, wires } from './model-wire.ts'

export { call, fail, finish, say, type Turn } from './model-turns.ts'
export type { Protocol } from './model-wire.ts'

/** One question as it came in. */
export interface Seen {
  protocol: Protocol
  path: string
  headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they please
  body: any
  model: string
  // biome-ignore lint/suspicious/noExplicitAny: each protocol has its own
  messages: any[]
  /** The asker went away before the answer was whole. */
  left: boolean
  /** When it had come whole, and when its answer had been written, as `performance.now()` tells. */
  times: { arrived: number; answered?: number }
}

export type Script = readonly Turn[] | ((request: Seen, n: number) => Turn | Promise<Turn>)

interface Options {
  /** Only so many of the last questions are remembered: all, unless said. */
  keep?: number
}

/**
 * A model that says what a script says: a real HTTP server on loopback with the protocols of real providers. It streams
 * where it is asked to. A list that is used up answers 500.
 */
export class ModelServer implements AsyncDisposable {
  readonly url: string
  readonly requests: Seen[] = []
  readonly #server: Server
  readonly #script: Script
  readonly #keep: number
  #count = 0

  private constructor(server: Server, script: Script, { keep = Number.POSITIVE_INFINITY }: Options) {
    this.#server = server
    this.#script = script
    this.#keep = keep
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => {
      this.#serve(request, response).catch(error => {
        if (response.headersSent) response.destroy()
        else json(response, 500, { error: { message: `Scripted model: ${error}`, type: 'server_error' } })
      })
    })
  }

  static async start(script: Script, options: Options = {}): Promise<ModelServer> {
    const server = createServer({ keepAliveTimeout: 60_000 })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new ModelServer(server, script, options)
  }

  get openai(): string {
    return `${this.url}/v1`
  }

  get anthropic(): string {
    return `${this.url}/v1`
  }

  get gemini(): string {
    return `${this.url}/v1beta`
  }

  /** How many questions came. */
  get count(): number {
    return this.#count
  }

  /** An LLM as a client orders it. */
  llm(extra: Record<string, unknown> = {}): Record<string, unknown> {
    return this.llmFor('chat', extra)
  }

  llmFor(protocol: Protocol, extra: Record<string, unknown> = {}): Record<string, unknown> {
    const orders = {
      chat: { model: 'openai/scripted', base_url: this.openai },
      responses: { model: 'openai/scripted', base_url: this.openai, api_mode: 'responses' },
      anthropic: { model: 'anthropic/scripted', base_url: this.anthropic },
      gemini: { model: 'gemini/scripted', base_url: this.gemini },
    }
    return { ...orders[protocol], api_key: 'sk-test', usage_id: 'agent', num_retries: 0, ...extra }
  }

  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const arrived = performance.now()
    const seen = read(request, Buffer.concat(chunks).toString(), arrived)
    if (!seen) return json(response, 404, { error: { message: `Scripted model: nothing at ${request.url}` } })
    const n = this.#count++
    this.requests.push(seen)
    if (this.requests.length > this.#keep) this.requests.shift()
    response.on('finish', () => {
      seen.times.answered = performance.now()
    })
    response.on('close', () => {
      seen.left = !response.writableFinished
    })
    const turn = typeof this.#script === 'function' ? await this.#script(seen, n) : this.#script[n]
    if (!turn) throw new Error(`script exhausted: question ${n + 1} has no turn`)
    await answer(seen, turn, String(n + 1), response)
  }
}

const PATHS: [RegExp, Protocol][] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/messages$/, 'anthropic'],
  [/\/models\/([^/]+):(?:streamGenerateContent|generateContent)$/, 'gemini'],
]

function read(request: IncomingMessage, text: string, arrived: number): Seen | undefined {
  const path = request.url ?? '/'
  const { pathname } = new URL(path, 'http://model')
  const found = PATHS.find(([pattern]) => pattern.test(pathname))
  if (request.method !== 'POST' || !found) return undefined
  const [pattern, protocol] = found
  const body = JSON.parse(text)
  return {
    protocol,
    path,
    headers: request.headers,
    body,
    model: body.model ?? pattern.exec(pathname)?.[1],
    messages: body.messages ?? body.input ?? body.contents,
    left: false,
    times: { arrived },
  }
}

async function answer(seen: Seen, turn: Turn, id: string, response: ServerResponse): Promise<void> {
  if (turn.delay !== undefined) await (typeof turn.delay === 'number' ? after(turn.delay) : turn.delay)
  if (turn.stall === 'before') return
  const wire = wires[seen.protocol]
  const fault = faultOf(turn, wire.family)
  if (fault) return json(response, fault.status, fault.body, turn.headers)
  const streamed = seen.body.stream === true || seen.path.includes(':streamGenerateContent')
  const said = full(turn, id)
  const model = seen.model ?? 'scripted'
  const parts =
    turn.raw !== undefined
      ? [turn.raw]
      : streamed
        ? wire.stream(said, id, model, seen.body)
        : halves(JSON.stringify(wire.whole(said, id, model)))
  response.writeHead(turn.status ?? 200, {
    'content-type': streamed ? 'text/event-stream' : 'application/json',
    ...turn.headers,
  })
  if (turn.stall || turn.cut) {
    response.write(parts.slice(0, Math.ceil(parts.length / 2)).join(''))
    if (turn.cut === 'end') response.end()
    // The asker has to have read the first half: a reset overtakes what lies in its buffers.
    else if (turn.cut === 'reset') setTimeout(() => response.socket?.resetAndDestroy(), 20)
    return
  }
  if (turn.trickle) return trickle(parts.join(''), turn.trickle, response)
  response.end(parts.join(''))
}

const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)]

async function trickle(text: string, { bytes, ms }: NonNullable<Turn['trickle']>, response: ServerResponse) {
  const all = Buffer.from(text)
  for (let at = 0; at < all.length && !response.destroyed; at += bytes) {
    response.write(all.subarray(at, at + bytes))
    await after(ms)
  }
  response.end()
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
