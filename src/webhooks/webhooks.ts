import { fault } from '../api/errors.ts'
import type { WebhookInfo } from '../api/webhooks.ts'
import { formatUtc, type Micros } from '../lib/time.ts'
import type { WebhookRecord } from '../store/store.ts'
import { Delivery, type DeliveryParts } from './delivery.ts'
import { Receiver, type ReceiverParts } from './receiver.ts'
import { trimmed, type WebhookSpec, webhookId } from './spec.ts'

export interface WebhooksParts
  extends Omit<DeliveryParts, 'id' | 'spec' | 'receiver'>,
    Omit<ReceiverParts, 'spec' | 'fetch'> {
  specs: WebhookSpec[]
  guardedFetch(): { fetch: typeof globalThis.fetch; close(): Promise<void> }
}

/** Whom the configuration wants told what happens. */
export class Webhooks {
  readonly #parts: WebhooksParts
  readonly #deliveries = new Map<string, { spec: WebhookSpec; delivery: Delivery }>()
  #closeFetch = async () => {}

  constructor(parts: WebhooksParts) {
    this.#parts = parts
  }

  /** Before anything can happen that a new one is owed. */
  async open(): Promise<void> {
    const { store, specs, guardedFetch, ...rest } = this.#parts
    // Those of an earlier configuration would be owed ever more.
    if (specs.length === 0 && (await store.webhooks()).length === 0) return
    await store.setWebhooks(
      specs.map(spec => ({
        id: webhookId(spec),
        buffer: spec.event_buffer_size,
        delay: Math.round(spec.flush_delay * 1_000_000),
      })),
    )
    const { fetch, close } = guardedFetch()
    this.#closeFetch = close
    const records = await store.webhooks()
    for (const spec of specs) {
      const id = webhookId(spec)
      const isPaused = records.some(record => record.id === id && record.paused)
      const receiver = new Receiver({ spec, key: rest.key, fetch })
      this.#deliveries.set(id, { spec, delivery: new Delivery({ id, spec, store, receiver, ...rest }, isPaused) })
    }
  }

  async list(): Promise<WebhookInfo[]> {
    const records = new Map((await this.#parts.store.webhooks()).map(record => [record.id, record]))
    return Promise.all(
      [...this.#deliveries].map(([id, { spec, delivery }]) => this.#info(records.get(id), spec, delivery)),
    )
  }

  pause(id: string): Promise<void> {
    return this.#find(id).pause()
  }

  resume(id: string): Promise<void> {
    return this.#find(id).resume()
  }

  /** Of the one that is furthest behind. */
  get lagSeconds(): number {
    return Math.max(0, ...[...this.#deliveries.values()].map(({ delivery }) => delivery.lagSeconds))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#deliveries.values()].map(({ delivery }) => delivery.close()))
    await this.#closeFetch()
  }

  #find(id: string): Delivery {
    const found = this.#deliveries.get(id)
    if (!found) throw fault('webhook_not_found', id)
    return found.delivery
  }

  async #info(record: WebhookRecord | undefined, spec: WebhookSpec, delivery: Delivery): Promise<WebhookInfo> {
    const id = webhookId(spec)
    const { conversations, failing, oldest } = await this.#parts.store.webhookDebt(id)
    const error = record?.error ?? null
    return {
      id,
      base_url: trimmed(spec.base_url),
      status: delivery.statusWith(failing),
      pending_conversations: conversations,
      failing_conversations: failing,
      oldest_pending_at: timeOf(oldest),
      last_success_at: timeOf(record?.succeededAt ?? null),
      last_error: error && { at: formatUtc(error.at), message: error.message, status: error.status },
      delivered: record?.delivered ?? 0,
    }
  }
}

const timeOf = (at: Micros | null): string | null => (at === null ? null : formatUtc(at))
