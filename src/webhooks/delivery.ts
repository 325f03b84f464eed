import type { ConversationInfo } from '../api/conversations.ts'
import type { Log } from '../lib/log.ts'
import { recently } from '../lib/recently.ts'
import { type Micros, now } from '../lib/time.ts'
import type { EventRecord, Owed, Store, WebhookDebt } from '../store/store.ts'
import { batch, type Message, nothing, report } from './message.ts'
import { waitBefore } from './patience.ts'
import type { Receiver, Refusal } from './receiver.ts'
import type { WebhookSpec } from './spec.ts'

/** Conversations told at the same time: enough that one slow answer does not hold up the others, few enough to be polite. */
const AT_ONCE = 4
/** What one request holds at most: made within milliseconds, on the thread that everybody shares. */
const BATCH_EVENTS = 200
const BATCH_CHARACTERS = 1024 * 1024
/** How often it is asked what is due. Nobody tells, so there is nothing that could be missed. */
const POLL_MS = 100
/** After so many failures in a row, whichever the conversation, one try at a time shows whether it is worthwhile again. */
const SUSPENDED_AFTER = 10
/** After the store failed us: what was told is told again, but not at once. */
const STORE_FAILED_MS = 5_000
/** How old the figure of its lag may be. */
const LAG_MS = 5_000
/** How long an answer is waited for when the server stops. */
const CLOSE_MS = 1_000
const GONE = 410

export interface DeliveryParts {
  id: string
  spec: WebhookSpec
  store: Store
  receiver: Receiver
  /** With its skills; null for one that is gone, or cannot be read. */
  info(id: string): Promise<ConversationInfo | null>
  eventsAfter(no: number, seq: number, limit: number, characters: number): Promise<EventRecord[]>
  log: Log
}

export type DeliveryStatus = 'ok' | 'failing' | 'suspended' | 'paused'

/**
 * Tells one webhook what it is owed, for ever: what is not taken stays owed. Of one conversation in order, one request at
 * a time; of several side by side. What is owed lies in the store, so that no more of it is in memory than is being told.
 */
export class Delivery {
  readonly #parts: DeliveryParts
  readonly #closing = new AbortController()
  /** By conversation id. */
  readonly #telling = new Map<string, Promise<void>>()
  readonly #debt: () => Promise<WebhookDebt>
  readonly #working: Promise<void>
  #isPaused: boolean
  #failures = 0
  /** On the clock of `performance`: nothing is begun before. */
  #restsUntil = 0
  #oldest: Micros | null = null
  #isDue = true
  #wake: () => void = () => undefined

  constructor(parts: DeliveryParts, isPaused: boolean) {
    this.#parts = parts
    this.#isPaused = isPaused
    this.#debt = recently(LAG_MS, () => parts.store.webhookDebt(parts.id))
    this.#working = this.#work()
  }

  /** How old the oldest thing is that was not told; 0 when there is none. */
  get lagSeconds(): number {
    return this.#oldest === null ? 0 : Math.max(0, (now() - this.#oldest) / 1_000_000)
  }

  statusWith(failing: number): DeliveryStatus {
    if (this.#isPaused) return 'paused'
    if (this.#failures >= SUSPENDED_AFTER) return 'suspended'
    return failing > 0 ? 'failing' : 'ok'
  }

  async pause(): Promise<void> {
    await this.#parts.store.pauseWebhook(this.#parts.id, true)
    this.#isPaused = true
  }

  /** Tries everything anew, now. */
  async resume(): Promise<void> {
    await this.#parts.store.pauseWebhook(this.#parts.id, false)
    this.#isPaused = false
    this.#failures = 0
    this.#restsUntil = 0
    this.#nudge()
  }

  /** What is under way may still be answered; everything else is told after the next start. */
  async close(): Promise<void> {
    const impatience = setTimeout(() => this.#closing.abort(), CLOSE_MS)
    this.#isPaused = true
    await Promise.all(this.#telling.values())
    clearTimeout(impatience)
    this.#closing.abort()
    this.#nudge()
    await this.#working
  }

  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      this.#isDue = false
      if (performance.now() >= this.#restsUntil) await this.#begin().catch(error => this.#storeFailed(error))
      if (!this.#isDue) await this.#nudged()
    }
  }

  #nudged(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, POLL_MS)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #nudge(): void {
    this.#isDue = true
    this.#wake()
  }

  async #begin(): Promise<void> {
    const { id: webhook, store } = this.#parts
    const probes = this.#failures >= SUSPENDED_AFTER
    const free = (probes ? 1 : AT_ONCE) - this.#telling.size
    this.#oldest = (await this.#debt()).oldest
    if (this.#isPaused || free <= 0) return
    const by = probes ? Number.MAX_SAFE_INTEGER : now()
    // As it is before they are read: what is told meanwhile is owed otherwise by then.
    const underWay = new Set(this.#telling.keys())
    const owed = await store.owed({ webhook, by, limit: free + underWay.size })
    if (this.#isPaused) return
    for (const one of owed.filter(({ id }) => !underWay.has(id)).slice(0, free)) {
      const telling = this.#tell(one)
        .catch(error => this.#storeFailed(error))
        .finally(() => {
          this.#telling.delete(one.id)
          this.#nudge()
        })
      this.#telling.set(one.id, telling)
    }
  }

  async #tell(owed: Owed): Promise<void> {
    const { store, receiver } = this.#parts
    const message = await this.#messageFor(owed)
    const refusal = message && (await receiver.send(message, this.#closing.signal))
    if (refusal) return this.#refused(owed, refusal)
    const { webhook, no } = owed
    await store.webhookTold({ webhook, no, at: now(), ...(message?.told ?? nothing(owed)) })
    if (!message) return
    if (this.#failures >= SUSPENDED_AFTER && !this.#isPaused) await this.resume()
    this.#failures = 0
  }

  /**
   * A conversation is reported before its first event, since receivers put events only where they know one; after that, what
   * happened first, and then what it came to.
   */
  async #messageFor(owed: Owed): Promise<Message | undefined> {
    const { spec, info, eventsAfter } = this.#parts
    const { farewell, news, seq, no, id } = owed
    if (farewell !== null) return report(owed, farewell)
    const isFirst = seq === 0 && news > 0
    const size = Math.min(spec.max_batch_bytes, BATCH_CHARACTERS)
    const records = isFirst ? [] : await eventsAfter(no, seq, BATCH_EVENTS, size)
    if (records.length > 0) return batch(owed, records, spec.max_batch_bytes)
    const found = news > 0 ? await info(id) : null
    return found ? report(owed, JSON.stringify({ ...found, sub_conversation_ids: [] })) : undefined
  }

  async #refused(owed: Owed, { message, status, retryAfterMs }: Refusal): Promise<void> {
    const { id, spec, store, log } = this.#parts
    const { webhook, no, tries } = owed
    // What was under way when it came to a rest shows nothing new.
    if (performance.now() >= this.#restsUntil) this.#failures += 1
    const wait = (times: number) => waitBefore(times, spec, retryAfterMs, Math.random())
    const isSuspended = this.#failures >= SUSPENDED_AFTER
    if (isSuspended) this.#rest(wait(spec.num_retries + 1 + this.#failures - SUSPENDED_AFTER))
    else if (retryAfterMs > 0) this.#rest(wait(tries + 1))
    if (tries === 0 || this.#failures === SUSPENDED_AFTER)
      log.warn('webhook', { webhook: id, conversation: owed.id, error: message, suspended: isSuspended })
    const at = now()
    await store.webhookFailed({ webhook, no, due: at + wait(tries + 1) * 1000, error: { at, message, status } })
    if (status === GONE) await this.pause()
  }

  #storeFailed(error: unknown): void {
    if (this.#closing.signal.aborted) return
    this.#parts.log.error('webhook', { webhook: this.#parts.id, error: String(error) })
    this.#rest(STORE_FAILED_MS)
  }

  #rest(ms: number): void {
    this.#restsUntil = Math.max(this.#restsUntil, performance.now() + ms)
  }
}
