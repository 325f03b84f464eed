import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { json, text } from 'node:stream/consumers'
import { fault } from '../../api/errors.ts'
import { Agent, request } from '../../lib/node-http.ts'

/** Of those we know, the newest; an engine that is older than that is spoken to in its own. */
const NEWEST = [1, 47] as const

/** An engine that says nothing for so long is taken for dead. Longest without a word is the keeping of large files as an image. */
const SILENCE_MS = 300_000

/** The engine said no. */
export class EngineError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
  }
}

/** Whether the engine's answer was one of these. */
export const answered = (error: unknown, ...statuses: number[]): error is EngineError =>
  error instanceof EngineError && statuses.includes(error.status)

export interface Call {
  query?: Readonly<Record<string, string | number | boolean>>
  /** JSON, or a tar archive. */
  body?: object | Buffer
  signal?: AbortSignal
}

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'

/** Speaks the Docker Engine API over its unix socket: to Docker, rootless Docker and Podman. */
export class Engine {
  readonly socketPath: string
  readonly #agent = new Agent({ keepAlive: false })
  #version: Promise<string> | undefined

  constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  async get<T>(path: string, call: Call = {}): Promise<T> {
    return JSON.parse(await this.#whole('GET', path, call)) as T
  }

  async post<T>(path: string, call: Call = {}): Promise<T | undefined> {
    const answer = await this.#whole('POST', path, call)
    return answer ? (JSON.parse(answer) as T) : undefined
  }

  /** For whom the answer says no more than yes. */
  async send(method: 'PUT' | 'DELETE' | 'POST', path: string, call: Call = {}): Promise<void> {
    await this.#whole(method, path, call)
  }

  async headers(path: string, call: Call = {}): Promise<IncomingMessage['headers']> {
    const answer = await this.stream('HEAD', path, call)
    answer.resume()
    return answer.headers
  }

  /** The answer as it comes. */
  async stream(method: Method, path: string, call: Call = {}): Promise<IncomingMessage> {
    const asked = this.#request(method, `${await this.#prefix()}${path}`, call)
    return this.#answer(asked)
  }

  /** The connection itself, for input and output of a command. */
  async hijack(path: string, body: object): Promise<Duplex> {
    const asked = this.#request(
      'POST',
      `${await this.#prefix()}${path}`,
      { body },
      { upgrade: 'tcp', connection: 'Upgrade' },
    )
    const { promise, resolve } = Promise.withResolvers<Duplex>()
    asked.once('upgrade', (_, socket: Duplex, head: Buffer) => {
      asked.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    const refused = this.#answer(asked).then(answer => {
      answer.destroy()
      throw new EngineError(answer.statusCode ?? 0, 'The Docker engine did not give the connection away')
    })
    return Promise.race([promise, refused])
  }

  /** Its name and release, for a person. Rejects when it does not answer. */
  async version(): Promise<{ Version: string; ApiVersion: string }> {
    return (await json(await this.#answer(this.#request('GET', '/version')))) as { Version: string; ApiVersion: string }
  }

  async #whole(method: Method, path: string, call: Call): Promise<string> {
    return text(await this.stream(method, path, call)).catch(error => this.#silent(error))
  }

  #silent(error: Error): never {
    if (error.name === 'AbortError') throw error
    throw fault('sandbox_failed', `The Docker engine does not answer at ${this.socketPath}: ${error.message}`)
  }

  async #prefix(): Promise<string> {
    this.#version ??= this.version().then(({ ApiVersion }) => {
      const [major = 1, minor = 0] = ApiVersion.split('.').map(Number)
      const newer = major > NEWEST[0] || (major === NEWEST[0] && minor > NEWEST[1])
      return `/v${newer ? NEWEST.join('.') : ApiVersion}`
    })
    return this.#version.catch(error => {
      this.#version = undefined
      throw error
    })
  }

  #request(method: Method, path: string, { query = {}, body, signal }: Call = {}, headers = {}): ClientRequest {
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(`${value}`)}`)
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const asked = request({
      socketPath: this.socketPath,
      agent: this.#agent,
      method,
      path: words.length > 0 ? `${path}?${words.join('&')}` : path,
      timeout: SILENCE_MS,
      signal,
      headers: {
        host: 'docker',
        'content-type': Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json',
        'content-length': bytes?.length ?? 0,
        ...headers,
      },
    })
    asked.once('timeout', () => asked.destroy(new Error(`silent for ${SILENCE_MS} ms`)))
    asked.end(bytes)
    return asked
  }

  async #answer(asked: ClientRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    asked.once('response', resolve)
    asked.on('error', reject)
    const answer = await promise.catch(error => this.#silent(error))
    if ((answer.statusCode ?? 0) < 400) return answer
    const said = await text(answer)
    throw new EngineError(answer.statusCode ?? 0, messageIn(said) ?? `${answer.statusCode} ${answer.statusMessage}`)
  }
}

function messageIn(said: string): string | undefined {
  try {
    return (JSON.parse(said) as { message?: string }).message
  } catch {
    return said.trim() || undefined
  }
}
