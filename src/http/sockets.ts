import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import * as z from 'zod'
import { Fault } from '../api/errors.ts'
import type { SocketSpec } from '../api/routes/sockets.ts'
import type { Log } from '../lib/log.ts'
import { STATUS_CODES } from '../lib/node-http.ts'
import type { Auth } from './auth.ts'
import { type Handshake, shakeHands } from './handshake.ts'
import { READER_LINGER_MS, SOCKET_AUTH_MS, SOCKET_FRAME_BYTES, SOCKET_PING_MS } from './limits.ts'
import type { OriginPolicy } from './origin.ts'
import { confine } from './scope.ts'
import { drained, type Sink } from './stream.ts'

export interface SocketsParts {
  auth: Auth
  origins: OriginPolicy
  rooms: readonly Room[]
  hasSandbox(id: string): boolean
  log: Log
}

/** What one kind of socket leads to. */
export interface Room {
  spec: SocketSpec
  /** Begins to tell, or closes the socket. Must not reject. */
  enter(guest: Guest): Promise<void>
  /** A frame that is JSON and no key. */
  hear(guest: Guest, frame: unknown): Promise<void>
  /** How it is said what was wrong with a frame. */
  complaint(complaint: Complaint): unknown
}

/** One socket that was let in. `params` and `query` have been read by the room's own declaration. */
export interface Guest {
  socket: WebSocket
  sink: Sink
  /** The sandbox it is confined to. */
  scope: string | undefined
  params: Record<string, unknown>
  query: Record<string, unknown>
}

export interface Complaint {
  code: string
  detail: string
}

const AuthFrame = z.strictObject({ type: z.literal('auth'), session_api_key: z.string().optional() })

/** The WebSocket side of the server. */
export class Sockets {
  readonly #parts: SocketsParts
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: SOCKET_FRAME_BYTES, perMessageDeflate: false })
  readonly #pulses = new WeakMap<WebSocket, Pulse>()
  readonly #pings: NodeJS.Timeout

  constructor(parts: SocketsParts) {
    this.#parts = parts
    this.#pings = setInterval(() => this.#ping(), SOCKET_PING_MS).unref()
  }

  get open(): number {
    return this.#server.clients.size
  }

  /** Takes an upgrade request over from the HTTP server. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const handshake = shakeHands(request, this.#parts.rooms, this.#parts.auth, this.#parts.origins)
    if ('refused' in handshake) {
      // The HTTP server has let go of the stream: nobody else hears that the caller is gone, or closes its half.
      stream.on('error', () => stream.destroy()).once('finish', () => stream.destroy())
      this.#parts.log.info('socket refused', { status: handshake.refused })
      stream.end(`HTTP/1.1 ${handshake.refused} ${STATUS_CODES[handshake.refused]}\r\nConnection: close\r\n\r\n`)
      return
    }
    this.#server.handleUpgrade(request, stream, head, socket => {
      // `ws` closes the socket itself, with the code that says why; unheard, the event would end the process.
      socket.on('error', () => undefined)
      const pulse = { stream: stream as Socket, sent: 0, silent: false }
      this.#pulses.set(socket, pulse)
      socket.on('pong', () => {
        pulse.silent = false
      })
      this.#serve(socket, stream, handshake)
    })
  }

  /** Everybody is told to come back: the server restarts. */
  close(): void {
    clearInterval(this.#pings)
    for (const socket of this.#server.clients) socket.close(1012)
    setTimeout(() => {
      for (const socket of this.#server.clients) socket.terminate()
    }, 1000).unref()
  }

  /**
   * Frames of one socket are taken one at a time, in order: while one is being worked on the socket is not read.
   * Where nothing was brought with the handshake, the first must bring the key.
   */
  #serve(socket: WebSocket, stream: Duplex, handshake: Exclude<Handshake<Room>, { refused: number }>): void {
    const { room, params, query, admitted, confinement } = handshake
    const guest: Guest = { socket, sink: socketSink(socket, stream), scope: undefined, params, query }
    let asking = admitted === 'ask'
    const refuse = () => socket.close(4001, 'Authentication failed')
    const patience = asking ? setTimeout(refuse, SOCKET_AUTH_MS) : undefined
    socket.once('close', () => clearTimeout(patience))
    const enter = async (key = confinement.key) => {
      try {
        guest.scope = confine({ path: confinement.path, key }, this.#parts.hasSandbox)
        await room.enter(guest)
      } catch {
        socket.close(4004, 'Sandbox not found')
      }
    }
    let turn = asking ? Promise.resolve() : enter()
    const take = async (data: RawData) => {
      // Frames still arrive on a socket that was told to go, after a wrong key for one: they are not heard.
      if (socket.readyState !== socket.OPEN) return
      if (!asking) return this.#hear(room, guest, data)
      clearTimeout(patience)
      const key = keyIn(data)
      const own = this.#parts.auth.scopeOf({ key, authorization: undefined, cookie: undefined })
      if (key === undefined || (own === undefined && !this.#parts.auth.isKey(key))) return refuse()
      asking = false
      await enter(own)
    }
    socket.on('message', data => {
      socket.pause()
      turn = turn.then(() => take(data)).finally(() => socket.resume())
    })
  }

  /** What is wrong with a frame is said on the same socket, which stays open. */
  async #hear(room: Room, guest: Guest, data: RawData): Promise<void> {
    try {
      const frame = parse(data)
      if (frame === undefined) throw new SyntaxError('The frame is not JSON')
      if (!AuthFrame.safeParse(frame).success) await room.hear(guest, frame)
    } catch (error) {
      guest.socket.send(JSON.stringify(room.complaint(this.#describe(error))))
    }
  }

  #describe(error: unknown): Complaint {
    if (error instanceof SyntaxError) return { code: 'JSONDecodeError', detail: error.message }
    if (error instanceof z.ZodError) return { code: 'ValidationError', detail: z.prettifyError(error) }
    if (error instanceof Fault) return { code: error.code, detail: error.message }
    this.#parts.log.error('socket', { error: String(error) })
    return { code: 'InternalError', detail: 'The message could not be stored' }
  }

  /** Whoever neither answered the last ping nor took a byte since is gone, whatever TCP believes. */
  #ping(): void {
    for (const socket of this.#server.clients) {
      const pulse = this.#pulses.get(socket)!
      const sent = pulse.stream.bytesWritten - pulse.stream.writableLength
      if (pulse.silent && sent === pulse.sent) socket.terminate()
      pulse.silent = true
      pulse.sent = sent
      socket.ping()
    }
  }
}

interface Pulse {
  stream: Socket
  /** Bytes that had left us at the last ping. */
  sent: number
  /** The last ping has no answer yet. */
  silent: boolean
}

/**
 * Events go past the `ws` library straight to the stream: each batch is one buffer of whole frames, shared by all
 * sockets. Its own frames (ping, close) are whole writes too, so the two never mix within a frame.
 */
function socketSink(socket: WebSocket, stream: Duplex): Sink {
  return {
    encoding: 'socket',
    write: chunk => {
      if (socket.readyState === socket.OPEN) stream.write(chunk)
    },
    buffered: () => stream.writableLength,
    drained: () => drained(stream),
    close: (code, reason) => {
      socket.close(code, reason)
      setTimeout(() => socket.terminate(), READER_LINGER_MS).unref()
    },
  }
}

function keyIn(data: RawData): string | undefined {
  const frame = z.safeParse(AuthFrame, parse(data))
  return frame.success ? frame.data.session_api_key : undefined
}

/** Undefined when it is not JSON. */
function parse(data: RawData): unknown {
  try {
    return JSON.parse(String(data))
  } catch {
    return undefined
  }
}
