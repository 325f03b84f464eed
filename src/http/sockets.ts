import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import * as z from 'zod'
import { Fault } from '../api/errors.ts'
import { SocketMessage } from '../api/events.ts'
import type { Conversations } from '../conversation/conversations.ts'
import { unplaced } from '../conversation/draft.ts'
import type { Events } from '../conversation/events.ts'
import type { Log } from '../lib/log.ts'
import type { ConversationRecord } from '../store/store.ts'
import type { Auth } from './auth.ts'
import { type EventsQuery, type Handshake, shakeHands } from './handshake.ts'
import { READER_LINGER_MS, SOCKET_AUTH_MS, SOCKET_FRAME_BYTES, SOCKET_PING_MS } from './limits.ts'
import { STATUS_CODES } from './node-http.ts'
import type { OriginPolicy } from './origin.ts'
import { drained, type Sink, type Streams } from './stream.ts'

export interface SocketsParts {
  auth: Auth
  origins: OriginPolicy
  conversations: Conversations
  events: Events
  streams: Streams
  log: Log
}

const AuthFrame = z.strictObject({ type: z.literal('auth'), session_api_key: z.string().optional() })

/** The WebSocket side of the server: `/sockets/events/{conversation_id}`. */
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
    const handshake = shakeHands(request, this.#parts.auth, this.#parts.origins)
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
  #serve(socket: WebSocket, stream: Duplex, { id, query, admitted }: Exclude<Handshake, { refused: number }>): void {
    let asking = admitted === 'ask'
    const refuse = () => socket.close(4001, 'Authentication failed')
    const patience = asking ? setTimeout(refuse, SOCKET_AUTH_MS) : undefined
    socket.once('close', () => clearTimeout(patience))
    let turn = asking ? Promise.resolve() : this.#follow(socket, stream, id, query)
    const take = async (data: RawData) => {
      // Frames still arrive on a socket that was told to go, after a wrong key for one: they are not heard.
      if (socket.readyState !== socket.OPEN) return
      if (!asking) return this.#hear(socket, id, data)
      clearTimeout(patience)
      if (!this.#bringsKey(data)) return refuse()
      asking = false
      await this.#follow(socket, stream, id, query)
    }
    socket.on('message', data => {
      socket.pause()
      turn = turn.then(() => take(data)).finally(() => socket.resume())
    })
  }

  #bringsKey(data: RawData): boolean {
    const frame = z.safeParse(AuthFrame, parse(data))
    return frame.success && this.#parts.auth.isKey(frame.data.session_api_key ?? '')
  }

  async #follow(socket: WebSocket, stream: Duplex, id: string, query: EventsQuery): Promise<void> {
    const { conversations, events, streams, log } = this.#parts
    try {
      const record = await conversations.record(id)
      const after = await this.#cursor(record, query, events)
      const stop = streams.follow(id, record.no, after, socketSink(socket, stream))
      if (!stop) {
        socket.close(1013, 'Too many connections for this conversation')
        return
      }
      socket.once('close', stop)
      // It may have gone while its place was looked up; then nobody says so again.
      if (socket.readyState === socket.CLOSED) stop()
      log.info('socket', { conversation: id, after: after.seq })
    } catch (error) {
      if (error instanceof Fault && error.code === 'conversation_not_found')
        socket.close(4004, 'Conversation not found')
      else if (error instanceof Fault && error.code === 'event_not_found') socket.close(4004, 'Event not found')
      else {
        log.error('socket', { conversation: id, error: String(error) })
        socket.close(1011, 'Internal error')
      }
    }
  }

  async #cursor(record: ConversationRecord, query: EventsQuery, events: Events) {
    if (query.after) return { seq: await events.positionOf(record, query.after), id: query.after }
    const mode = query.resend_mode ?? (query.resend_all ? 'all' : undefined)
    if (mode === 'all') return { seq: 0, id: undefined }
    if (mode === 'since' && query.after_timestamp)
      return { seq: await events.positionBefore(record, query.after_timestamp), id: undefined }
    return { seq: record.head, id: undefined }
  }

  /** A message, as `POST …/events` with `run`. What is wrong with it is said on the same socket, which stays open. */
  async #hear(socket: WebSocket, id: string, data: RawData): Promise<void> {
    try {
      const frame = parse(data)
      if (frame === undefined) throw new SyntaxError('The frame is not JSON')
      if (AuthFrame.safeParse(frame).success) return
      const { role, content } = SocketMessage.parse(frame)
      await this.#parts.conversations.send(id, { role, content, run: true })
    } catch (error) {
      const { code, detail } = this.#complaint(id, error)
      socket.send(JSON.stringify(unplaced({ kind: 'ServerErrorEvent', source: 'environment', code, detail })))
    }
  }

  #complaint(id: string, error: unknown): { code: string; detail: string } {
    if (error instanceof SyntaxError) return { code: 'JSONDecodeError', detail: error.message }
    if (error instanceof z.ZodError) return { code: 'ValidationError', detail: z.prettifyError(error) }
    if (error instanceof Fault) return { code: error.code, detail: error.message }
    this.#parts.log.error('socket', { conversation: id, error: String(error) })
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

/** Undefined when it is not JSON. */
function parse(data: RawData): unknown {
  try {
    return JSON.parse(String(data))
  } catch {
    return undefined
  }
}
