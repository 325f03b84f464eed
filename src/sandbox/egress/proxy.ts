import type { Duplex } from 'node:stream'
import { connect as reach, type Ways } from './dial.ts'
import { HttpSide } from './http.ts'
import { LIMITS } from './limits.ts'
import type { Refusal } from './refusals.ts'
import { lookup as resolve } from './resolve.ts'
import { serveSocks, VERSION } from './socks.ts'
import { type Client, Visit } from './visit.ts'

export type { Client } from './visit.ts'

export interface Options extends Partial<Ways> {
  /** Ports of the server itself: whoever reaches them from inside would be local. */
  forbidden: Ways['forbidden']
  onRefused: (refusal: Refusal) => void
}

/**
 * What sandboxes reach the world through: an HTTP proxy and a SOCKS5 proxy on the same port, told apart by the first
 * byte. Whatever comes in, nothing is thrown.
 */
export class EgressProxy {
  readonly #ways: Ways
  readonly #onRefused: (refusal: Refusal) => void
  readonly #http = new HttpSide()
  readonly #open = new Map<string, Set<Duplex>>()
  #closed = false

  constructor({ onRefused, forbidden, lookup = resolve, connect = reach, limits = LIMITS }: Options) {
    this.#ways = { lookup, connect, forbidden, limits }
    this.#onRefused = onRefused
  }

  /** Takes over a connection that was accepted inside a sandbox. */
  serve(socket: Duplex, client: Client): void {
    const open = this.#open.get(client.sandbox) ?? new Set()
    if (this.#closed || socket.destroyed || open.size >= this.#ways.limits.connections) {
      socket.on('error', () => undefined)
      socket.destroy()
      return
    }
    this.#open.set(client.sandbox, open.add(socket))
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0 && this.#open.get(client.sandbox) === open) this.#open.delete(client.sandbox)
    })
    // Otherwise whoever has said all it has to say would not hear the answer.
    socket.allowHalfOpen = true
    const visit = new Visit(socket, client, this.#ways, this.#onRefused)
    socket.once('readable', () => this.#greet(visit))
  }

  #greet(visit: Visit): void {
    const first: Buffer | null = visit.socket.read()
    if (first === null) {
      visit.hangUp()
      return
    }
    visit.socket.unshift(first)
    if (first[0] === VERSION) serveSocks(visit)
    else this.#http.serve(visit)
  }

  /** How many connections a sandbox has. */
  count(sandbox: string): number {
    return this.#open.get(sandbox)?.size ?? 0
  }

  /** Ends a sandbox's connections: what it may reach has changed, or it is no more. */
  drop(sandbox: string): void {
    for (const socket of this.#open.get(sandbox) ?? []) socket.destroy()
  }

  /** Ends all connections, and takes no more. */
  close(): void {
    this.#closed = true
    for (const sandbox of this.#open.keys()) this.drop(sandbox)
  }
}
