import type { Socket } from 'node:net'
import { PROXY_PORT, proxyEnv } from '../egress/environment.ts'
import type { Client } from '../egress/proxy.ts'
import { Roster } from '../egress/roster.ts'
import type { Command, Order } from '../sandbox.ts'
import { Network } from './network.ts'
import { signalMarked } from './tree.ts'

/** Where requests that leave a sandbox go. */
export interface Gate {
  serve(socket: Socket, client: Client): void
}

/** What a command needs to find the way out. */
export interface Pass {
  env: Record<string, string>
  /** To be called when the command has ended, or failed to start. Tells, whenever asked, whether anything it started still runs. */
  leave(remains: () => Promise<boolean>): void
}

/** Of a command that is told as a name: enough to know it again. */
const LABEL_CHARACTERS = 200

/** In the environment of commands that have a policy of their own, with the mark of their sandbox. */
const NARROWED = 'GANTRY_NARROWED'

export interface OutletParts {
  /** The words that lead into the network, before those of a command. */
  enter: readonly [string, ...string[]]
  order: Order
  gate: Gate | undefined
  /** Tells the sandbox from all others on the machine. */
  mark: string
}

/** The network of one sandbox as its commands have it: a proxy on a port of its loopback, or nothing. */
export class Outlet {
  readonly #network: Network
  readonly #sandbox: string
  readonly #gate: Gate | undefined
  readonly #mark: string
  readonly #roster: Roster
  #open: Promise<void> = Promise.resolve()

  constructor({ enter, order, gate, mark }: OutletParts) {
    this.#network = new Network(enter)
    this.#sandbox = order.id
    this.#gate = order.egress.mode === 'none' ? undefined : gate
    this.#mark = mark
    this.#roster = new Roster(order.egress)
  }

  /**
   * Opens the way out. Where there is none, commands run without. What an earlier server's narrowed commands left running is
   * ended first: what it may reach is known to nobody any more.
   */
  open({ takenOver, onTrouble }: { takenOver: boolean; onTrouble: (what: string) => void }): void {
    const gate = this.#gate
    if (!gate) return
    const roster = this.#roster
    const client: Client = {
      sandbox: this.#sandbox,
      policiesFor: user => roster.policiesFor(user),
      labelOf: user => roster.labelOf(user),
    }
    const listen = async () => {
      if (takenOver) await signalMarked(`${NARROWED}=${this.#mark}`, 'SIGKILL')
      await this.#network.listen(PROXY_PORT, socket => gate.serve(socket, client))
    }
    this.#open = listen().catch(error => onTrouble(error.message))
  }

  /** The way out is open once this resolves. */
  async admit({ label, argv, egress }: Command): Promise<Pass> {
    await this.#open
    if (!this.#gate) return { env: {}, leave: () => undefined }
    const user = this.#roster.enter((label ?? argv.join(' ')).slice(0, LABEL_CHARACTERS), egress)
    return {
      env: { ...proxyEnv(PROXY_PORT, user), ...(egress && { [NARROWED]: this.#mark }) },
      leave: remains => this.#roster.leave(user, remains),
    }
  }

  connect(port: number): Promise<Socket> {
    return this.#network.connect(port)
  }

  close(): void {
    this.#network.close()
  }
}
