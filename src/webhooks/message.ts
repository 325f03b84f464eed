import { createHash } from 'node:crypto'
import { Event } from '../api/events.ts'
import { withNulls } from '../api/nulls.ts'
import { hexUuid } from '../lib/id.ts'
import type { EventRecord, Owed, WebhookTold } from '../store/store.ts'

/** One thing to be told, and what has been told once it was taken. */
export interface Message {
  /** Below the address of the webhook. */
  path: string
  body: string
  headers: Record<string, string>
  told: Pick<WebhookTold, 'seq' | 'news' | 'moreNews' | 'farewell' | 'count'>
}

/** Nothing was told; what was owed at the moment is no more. */
export const nothing = ({ head, news }: Owed): Message['told'] => ({
  seq: head,
  news,
  moreNews: 0,
  farewell: false,
  count: 0,
})

/** How a conversation is by now. The same again is known by its `X-Gantry-Delivery`. */
export const report = (owed: Owed, body: string): Message => ({
  path: '/conversations',
  body,
  headers: { 'X-Gantry-Delivery': deliveryId(owed.webhook, owed.id, body) },
  told: { seq: owed.seq, news: owed.news, moreNews: 0, farewell: owed.farewell !== null, count: 1 },
})

/**
 * What follows the last position told: as many events as go into one request, at least one. A repeat may hold more than the request
 * before, so whoever is to take each event once goes by `X-Gantry-Position`, that of the first; `X-Gantry-Delivery` is the same only
 * where everything is.
 */
export function batch(owed: Owed, records: readonly EventRecord[], maxBytes: number): Message {
  const texts: string[] = []
  let bytes = 0
  let moreNews = 0
  for (const { json } of records) {
    const event: Event = JSON.parse(json)
    const text = JSON.stringify(withNulls(Event, event))
    bytes += Buffer.byteLength(text) + 1
    if (texts.length > 0 && bytes > maxBytes) break
    texts.push(text)
    if (event.kind === 'ConversationStateUpdateEvent' && event.key === 'tags') moreNews = 1
  }
  const last = owed.seq + texts.length
  return {
    path: `/events/${hexUuid(owed.id)}`,
    body: `[${texts.join(',')}]`,
    headers: {
      'X-Gantry-Delivery': deliveryId(owed.webhook, owed.id, owed.seq + 1, last),
      'X-Gantry-Position': String(owed.seq + 1),
    },
    told: { seq: last, news: 0, moreNews, farewell: false, count: texts.length },
  }
}

const deliveryId = (...parts: (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
