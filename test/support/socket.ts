import { once } from 'node:events'
import { WebSocket } from 'ws'
import { until } from './wait.ts'

// biome-ignore lint/suspicious/noExplicitAny: frames are whatever the server says; tests look into them
export type Frame = any

/** A WebSocket that remembers everything it was told. */
export class TestSocket {
  readonly frames: Frame[] = []
  readonly socket: WebSocket
  closed: { code: number; reason: string } | undefined

  constructor(url: string, path: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url.replace(/^http/, 'ws') + path, { headers })
    this.socket.on('message', data => this.frames.push(JSON.parse(String(data))))
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) }
    })
    this.socket.on('error', () => undefined)
  }

  /** Resolves when the handshake is done; rejects with the HTTP status when it is refused. */
  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.OPEN) return this
    await Promise.race([
      once(this.socket, 'open'),
      once(this.socket, 'unexpected-response').then(([, response]) => {
        throw new Error(`refused with ${response.statusCode}`)
      }),
    ])
    return this
  }

  /** Log events only: no snapshots, no deltas, no errors of the socket itself. */
  get events(): Frame[] {
    return this.frames.filter(
      frame =>
        !(frame.kind === 'ConversationStateUpdateEvent' && frame.key === 'full_state') &&
        frame.kind !== 'StreamingDeltaEvent' &&
        frame.kind !== 'ServerErrorEvent',
    )
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  frame(what: string, matches: (frame: Frame) => boolean): Promise<Frame> {
    return until(`a frame came: ${what}`, () => this.frames.find(matches))
  }

  close(): Promise<{ code: number; reason: string }> {
    this.socket.close()
    return this.ended()
  }

  ended(): Promise<{ code: number; reason: string }> {
    return until('the socket was closed', () => this.closed)
  }

  [Symbol.dispose](): void {
    this.socket.terminate()
  }
}
