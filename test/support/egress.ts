import { once } from 'node:events'
import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Server, type Socket, connect as tcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { LIMITS, type Limits } from '../../src/sandbox/egress/limits.ts'
import type { Forbidden } from '../../src/sandbox/egress/policy.ts'
import { type Client, EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import type { Refusal } from '../../src/sandbox/egress/refusals.ts'
import type { Egress } from '../../src/sandbox/sandbox.ts'

export const OPEN: Egress = { mode: 'open', hosts: [] }

export interface GateOptions {
  egress?: Egress
  /** Instead of it: what must allow a request under a user name. */
  policiesFor?: Client['policiesFor']
  /** What names resolve to. A list of lists: the answers one after the other, the last one for ever. */
  names?: Record<string, readonly string[] | readonly (readonly string[])[]>
  forbidden?: Forbidden[]
  limits?: Partial<Limits>
  /** Where connections go instead of the address that was chosen. Without it they go where they say. */
  destination?: { port: number; host?: string }
  /** What a connection is, instead of one. */
  socket?: () => Socket
}

/** A proxy as a sandbox would find it, on a port of loopback. */
export class Gate implements AsyncDisposable {
  readonly proxy: EgressProxy
  readonly refusals: Refusal[] = []
  /** Names that were looked up, in order. */
  readonly lookups: string[] = []
  /** What was connected to, in order. */
  readonly connections: { addresses: readonly string[]; port: number }[] = []
  readonly upstreams: Socket[] = []
  readonly accepted: Socket[] = []
  egress: Egress
  readonly #server: Server

  private constructor(options: GateOptions) {
    this.egress = options.egress ?? OPEN
    const asked = new Map<string, number>()
    this.proxy = new EgressProxy({
      forbidden: options.forbidden ?? [],
      onRefused: refusal => this.refusals.push(refusal),
      limits: { ...LIMITS, ...options.limits },
      lookup: async name => {
        this.lookups.push(name)
        const known = options.names?.[name]
        if (!known) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
        if (!Array.isArray(known[0])) return known as string[]
        const turn = asked.get(name) ?? 0
        asked.set(name, turn + 1)
        return (known as string[][])[Math.min(turn, known.length - 1)]!
      },
      connect: (addresses, port) => {
        this.connections.push({ addresses, port })
        const { host = '127.0.0.1', port: to } = options.destination ?? { host: addresses[0], port }
        const socket = options.socket?.() ?? tcp({ host, port: to, allowHalfOpen: true })
        this.upstreams.push(socket)
        return socket
      },
    })
    const client: Client = {
      sandbox: 'box',
      policiesFor: async user => options.policiesFor?.(user) ?? [this.egress],
      labelOf: (user: string) => (user.startsWith('c-') ? `command ${user.slice(2)}` : undefined),
    }
    this.#server = createTcp(socket => {
      this.accepted.push(socket)
      this.proxy.serve(socket, client)
    })
  }

  static async open(options: GateOptions = {}): Promise<Gate> {
    const gate = new Gate(options)
    await once(gate.#server.listen(0, '127.0.0.1'), 'listening')
    return gate
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** A connection of a client that does not end when the other side does. */
  connect(): Socket {
    return connectTo(this.port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy.close()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

type Answering = (request: IncomingMessage) => { status?: number; headers?: Record<string, string>; text?: string }

function connectTo(port: number): Socket {
  return tcp({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
}

/** A web server that remembers what it was asked. */
export class Destination implements AsyncDisposable {
  readonly requests: {
    method: string
    url: string
    headers: IncomingMessage['headers']
    raw: string[]
    body: string
  }[] = []
  readonly server: HttpServer

  private constructor(answer: Answering) {
    this.server = createServer(async (request, response) => {
      const body = await readAll(request)
      const { method = '', url = '', headers, rawHeaders } = request
      this.requests.push({ method, url, headers, raw: rawHeaders, body })
      const { status = 200, headers: extra = {}, text = 'hello' } = answer(request)
      response.writeHead(status, extra).end(text)
    })
  }

  static async open(answer: Answering = () => ({})): Promise<Destination> {
    const destination = new Destination(answer)
    await once(destination.server.listen(0, '127.0.0.1'), 'listening')
    return destination
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }
}

/** A server that does as it is told with every connection. */
export async function listener(serve: (socket: Socket) => void): Promise<{ port: number } & AsyncDisposable> {
  const sockets: Socket[] = []
  const server = createTcp({ allowHalfOpen: true }, socket => {
    sockets.push(socket.on('error', () => undefined))
    serve(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** When it is gone, by whatever way: unlike `once`, an error is one of them. */
export async function closed(socket: Duplex): Promise<void> {
  if (!socket.closed) await new Promise(resolve => socket.once('close', resolve))
}

/** When nothing more comes from there, by whatever way. What came is dropped. */
export async function over(socket: Socket): Promise<void> {
  socket.resume().once('end', () => socket.destroy())
  await closed(socket)
}

/** Sends bytes, and collects what comes until the other side hangs up. `until`: hang up as soon as that is there. */
export async function converse(
  { port }: { port: number },
  bytes: string | Uint8Array,
  until?: RegExp,
): Promise<string> {
  const socket = connectTo(port)
  let said = ''
  socket.setEncoding('latin1')
  socket.on('data', chunk => {
    said += chunk
    if (until?.test(said)) socket.destroy()
  })
  socket.on('end', () => socket.end())
  socket.write(bytes)
  await closed(socket)
  return said
}

/** How a way of asking is answered: whether a way out was given, and in what words. */
export interface Outcome {
  way: string
  open: boolean
  /** Because of what was asked for, and not because it could not be had. */
  refused: boolean
  said: string
}

const authority = (host: string, port: number) =>
  `${host.split(':').length > 2 && !host.startsWith('[') ? `[${host}]` : host}:${port}`

const http = (said: string) => ({ open: /^HTTP\/1\.1 2/.test(said), refused: /^HTTP\/1\.1 4/.test(said), said })

/** What a SOCKS5 proxy answered to the request of somebody who needed no login. */
export const socksCode = (said: string): number | undefined =>
  said.startsWith('\x05\0\x05') ? said.charCodeAt(3) : undefined

/** The three ways to ask for a host. Each hangs up after the answer. */
export const WAYS: Record<string, (gate: Gate, host: string, port: number) => Promise<Outcome>> = {
  async CONNECT(gate, host, port) {
    const said = await converse(gate, `CONNECT ${authority(host, port)} HTTP/1.1\r\nHost: x\r\n\r\n`, /\r\n\r\n/)
    return { way: 'CONNECT', ...http(said) }
  },
  async 'plain HTTP'(gate, host, port) {
    const line = `GET http://${authority(host, port)}/secret HTTP/1.1`
    const said = await converse(gate, `${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)
    return { way: 'plain HTTP', ...http(said) }
  },
  async SOCKS5(gate, host, port) {
    const said = await converse(gate, socksRequest(host, port), /^.{12}/s)
    return { way: 'SOCKS5', open: socksCode(said) === 0, refused: socksCode(said) === 2, said }
  },
}

/** Greeting and request in one, with a name as it stands. */
export function socksRequest(host: string, port: number): Buffer {
  const name = Buffer.from(host)
  return Buffer.concat([Buffer.of(5, 1, 0, 5, 1, 0, 3, name.length), name, Buffer.of(port >> 8, port & 255)])
}

/** The same with an address in bytes. */
export const socksAddress = (bytes: readonly number[], port: number): Buffer =>
  Buffer.of(5, 1, 0, 5, 1, 0, bytes.length === 4 ? 1 : 4, ...bytes, port >> 8, port & 255)
