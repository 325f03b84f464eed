import type { Micros } from '../lib/time.ts'

/**
 * What webhooks are owed. The log itself is the outbox: a row says from which position on a webhook has not been told
 * of a conversation. It comes in the commit of what it owes, and goes when the webhook has been told everything: so
 * nothing is owed that did not happen, nothing that happened is forgotten, and there are as many rows as there is to tell.
 */
export interface WebhookStore {
  /** Makes these all there are. What is owed to others is dropped; a new one is owed what happens from now on. What was owed is due. */
  setWebhooks(webhooks: WebhookTerms[]): Promise<void>
  webhooks(): Promise<WebhookRecord[]>
  /** What is due by a time, the longest due first; of conversations that bore the same id one after the other, the first. */
  owed(query: { webhook: string; by: Micros; limit: number }): Promise<Owed[]>
  webhookDebt(webhook: string): Promise<WebhookDebt>
  webhookTold(told: WebhookTold): Promise<void>
  webhookFailed(failed: WebhookFailed): Promise<void>
  /** A paused one is owed more and more. For one that is not, everything owed is due at once, as if never tried. */
  pauseWebhook(id: string, paused: boolean): Promise<void>
}

export interface WebhookTerms {
  id: string
  /** Events of a conversation that are due at once. */
  buffer: number
  /** In microseconds: fewer are due after so long. */
  delay: number
}

export interface WebhookRecord {
  id: string
  paused: boolean
  /** Events and reports on conversations that it took. */
  delivered: number
  succeededAt: Micros | null
  error: WebhookError | null
}

export interface WebhookError {
  at: Micros
  message: string
  /** Of its answer, if it gave one. */
  status: number | null
}

export interface Owed {
  webhook: string
  /** The conversation: the store's own key, and its id. */
  no: number
  id: string
  /** The last position told. */
  seq: number
  head: number
  /** Changes of what a report on the conversation shows that no report has told. */
  news: number
  /** The last report on a conversation that is gone: all there is to tell. */
  farewell: string | null
  /** How often it was tried in vain. */
  tries: number
}

export interface WebhookDebt {
  conversations: number
  /** Of these, tried in vain. */
  failing: number
  /** When the oldest thing that was not told happened. */
  oldest: Micros | null
}

export interface WebhookTold {
  webhook: string
  no: number
  at: Micros
  /** The last position told. */
  seq: number
  /** Of the news that were owed, so many were told … */
  news: number
  /** … and so many came to be owed by the events that were told. */
  moreNews: number
  /** The farewell was told. */
  farewell: boolean
  /** Events and reports. */
  count: number
}

export interface WebhookFailed {
  webhook: string
  no: number
  /** When to try again. */
  due: Micros
  error: WebhookError
}
