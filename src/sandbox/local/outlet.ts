import type { Socket } from 'node:net'
import { Recent } from '../../lib/recent.ts'
import { proxyEnv } from '../egress/environment.ts'
import type { Client } from '../egress/proxy.ts'
import type { Command, Order } from '../sandbox.ts'
import { Network } from './network.ts'

/** Where requests that leave a sandbox go. */
export interface Gate {
  serve(socket: Socket, client: Client): void
}

/** Inside, where the way out is. Not a port that anything else is known to use. */
const PROXY_PORT = 39_128
/** Commands whose names are remembered, for those still running when they are refused something. */
const LABELS = 1_000

/** Of a command that is told as a name: enough to know it again. */
const LABEL_CHARACTERS = 200

/** The network of one sandbox as its commands have it: a proxy on a port of its loopback, or nothing. */
export class Outlet {
  readonly #network: Network
  readonly #order: Order
  readonly #gate: Gate | undefined
  readonly #labels = new Recent<string>(LABELS)
  #open: Promise<void> = Promise.resolve()

  /** The words lead into the network, before those of a command. */
  constructor(enter: readonly [string, ...string[]], order: Order, gate: Gate | undefined) {
    this.#network = new Network(enter)
    this.#order = order
    this.#gate = order.egress.mode === 'none' ? undefined : gate
  }

  /** Opens the way out. Where there is none, commands run without. */
  open(onTrouble: (what: string) => void): void {
    const gate = this.#gate
    if (!gate) return
    const { id, egress } = this.#order
    const client = { sandbox: id, egress, labelOf: (user: string) => this.#labels.get(user) }
    this.#open = this.#network
      .listen(PROXY_PORT, socket => gate.serve(socket, client))
      .catch(error => onTrouble(error.message))
  }

  /** What a command must have in its environment to find the way out, which is open once this resolves. */
  async admit(number: string, { label, argv }: Command): Promise<Record<string, string>> {
    await this.#open
    if (!this.#gate) return {}
    this.#labels.set(number, (label ?? argv.join(' ')).slice(0, LABEL_CHARACTERS))
    return proxyEnv(PROXY_PORT, number)
  }

  connect(port: number): Promise<Socket> {
    return this.#network.connect(port)
  }

  close(): void {
    this.#network.close()
  }
}
