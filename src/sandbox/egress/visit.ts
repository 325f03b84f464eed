import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Egress } from '../sandbox.ts'
import { canonicalHost } from './address.ts'
import { dial, Refused, type Ways } from './dial.ts'
import { join } from './join.ts'
import { PIPELINED, SHOWN_CHARACTERS } from './limits.ts'
import type { Refusal } from './refusals.ts'

/** Whose connection it is. */
export interface Client {
  sandbox: string
  /** What must all allow a request that comes under this user name. Asked anew for every one. */
  policiesFor(user: string | undefined): Promise<readonly Egress[]>
  /** What a person would call the command that this user name was given to. */
  labelOf(user: string): string | undefined
}

export interface Asked {
  host: string
  port: number
  /** The user name that came with the request. It says which command asks. */
  user: string | undefined
}

/** One connection from inside, while it lasts. It has a time to say something whenever nothing is being done for it. */
export class Visit {
  readonly socket: Duplex
  readonly #client: Client
  readonly #ways: Ways
  readonly #onRefused: (refusal: Refusal) => void
  readonly #gone = new AbortController()
  #last: Promise<void> = Promise.resolve()
  #pending = 0
  #joined = false
  #patience: NodeJS.Timeout | undefined

  constructor(socket: Duplex, client: Client, ways: Ways, onRefused: (refusal: Refusal) => void) {
    this.socket = socket
    this.#client = client
    this.#ways = ways
    this.#onRefused = onRefused
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(this.#patience)
      this.#gone.abort()
    })
    this.#listen()
  }

  /** Aborted when the connection is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Whether something that was asked before is still being done. */
  get busy(): boolean {
    return this.#pending > 0
  }

  /** Does one thing after the other, and hangs up when one of them fails. */
  inTurn(work: () => Promise<void>): void {
    if (this.#pending > PIPELINED || this.#joined) {
      this.socket.destroy()
      return
    }
    this.#pending += 1
    clearTimeout(this.#patience)
    this.#last = this.#last
      .then(() => (this.gone.aborted ? undefined : work()))
      .catch(() => this.hangUp())
      .finally(() => {
        this.#pending -= 1
        this.#listen()
      })
  }

  /** A connection to what is asked for. Rejects with Refused, which is then on record, or Unreachable. */
  async dial({ host, port, user }: Asked): Promise<Socket> {
    try {
      return await dial(this.#ways, await this.#client.policiesFor(user), { host, port }, this.gone)
    } catch (error) {
      if (error instanceof Refused) {
        const { sandbox } = this.#client
        const command = user === undefined ? undefined : this.#client.labelOf(user)
        this.#onRefused({ sandbox, host: shown(host), port, why: error.message, command, at: Date.now() })
      }
      throw error
    }
  }

  /** From now on it speaks with `upstream` itself. */
  join(upstream: Duplex): void {
    this.#joined = true
    join(this.socket, upstream, this.#ways.limits.idleMs)
  }

  hangUp(): void {
    this.socket.destroy()
  }

  #listen(): void {
    clearTimeout(this.#patience)
    if (this.#pending > 0 || this.#joined || this.gone.aborted) return
    this.#patience = setTimeout(() => this.hangUp(), this.#ways.limits.headMs)
  }
}

/** A host as it may be shown and kept, whatever was sent. */
export const shown = (host: string): string =>
  canonicalHost(host) ?? host.slice(0, SHOWN_CHARACTERS).replace(/[^\p{L}\p{N}\p{P}\p{S}]/gu, '\u{fffd}')
