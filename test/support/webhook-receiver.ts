import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ConversationInfo } from '../../src/api/conversations.ts'
import type { Event } from '../../src/api/events.ts'
import { hexUuid } from '../../src/lib/id.ts'

export interface Received {
  path: string
  headers: Record<string, string>
  body: string
}

/** A status, a whole answer, no answer at all, or the end of the connection in the middle of one. */
export type Answer = number | { status: number; headers: Record<string, string> } | 'hang' | 'break'

/** Somebody who is told what happens: a real server, as well behaved as a test wants it. */
export class WebhookReceiver implements AsyncDisposable {
  /** What it was sent, in the order it arrived. */
  readonly received: Received[] = []
  /** Of these, what it took. */
  readonly taken: Received[] = []
  /** Requests that came while one of the same path was not answered. */
  overlaps = 0
  /** Requests that were open at the same time, at most. */
  mostAtOnce = 0
  answer: (received: Received) => Answer | Promise<Answer> = () => 200
  #server: Server
  readonly #open = new Map<string, number>()
  #port = 0

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    await receiver.up()
    return receiver
  }

  private constructor() {
    this.#server = createServer()
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hooks`
  }

  /** Where it was before, if it was anywhere. */
  async up(): Promise<void> {
    this.#server = createServer((incoming, out) => this.#take(incoming, out))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async down(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  /** The events of a conversation that it took, repeats and all. */
  eventsOf(id: string): Event[] {
    return this.batchesOf(id).flatMap(({ events }) => events)
  }

  /** Each event once, as a receiver would have it that goes by positions. Throws where one is missing. */
  logOf(id: string): Event[] {
    const log: Event[] = []
    for (const { position, events } of this.batchesOf(id)) {
      if (position > log.length + 1) throw new Error(`From ${log.length} on to ${position}: something is missing`)
      log.push(...events.slice(log.length + 1 - position))
    }
    return log
  }

  batchesOf(id: string): { position: number; events: Event[] }[] {
    return this.taken
      .filter(({ path }) => path === `/hooks/events/${hexUuid(id)}`)
      .map(({ headers, body }) => ({ position: Number(headers['x-gantry-position']), events: JSON.parse(body) }))
  }

  /** The reports on a conversation that it took. */
  reportsOf(id: string): ConversationInfo[] {
    return this.taken
      .filter(({ path }) => path === '/hooks/conversations')
      .map(({ body }): ConversationInfo => JSON.parse(body))
      .filter(report => report.id === id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down()
  }

  async #take(incoming: IncomingMessage, out: ServerResponse): Promise<void> {
    const path = incoming.url ?? ''
    const open = this.#open.get(path) ?? 0
    if (open > 0 && path.includes('/events/')) this.overlaps += 1
    this.#open.set(path, open + 1)
    this.mostAtOnce = Math.max(
      this.mostAtOnce,
      [...this.#open.values()].reduce((sum, n) => sum + n),
    )
    out.once('close', () => this.#open.set(path, (this.#open.get(path) ?? 1) - 1))
    const body = await text(incoming).catch(() => undefined)
    if (body === undefined) return
    const received = { path, headers: incoming.headers as Record<string, string>, body }
    this.received.push(received)
    const answer = await this.answer(received)
    if (answer === 'hang') return
    if (answer === 'break') {
      incoming.socket.destroy()
      return
    }
    const { status, headers } = typeof answer === 'number' ? { status: answer, headers: {} } : answer
    if (status >= 200 && status < 300) this.taken.push(received)
    out.writeHead(status, headers).end('{"success":true}')
  }
}
