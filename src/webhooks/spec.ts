import { createHash } from 'node:crypto'
import * as z from 'zod'
import { secret } from '../api/secret.ts'

/** A plain address: what it must not show, such as a password, belongs into a header. */
function isBase(text: string): boolean {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return false
  return `${url.username}${url.password}${url.search}${url.hash}` === ''
}

function isHeader([name, value]: [string, string]): boolean {
  try {
    return !!new Headers([[name, value]])
  } catch {
    return false
  }
}

const headers = z
  .record(z.string(), secret())
  .refine(map => Object.entries(map).every(isHeader), 'headers that HTTP does not allow')

/** Somebody who is to be told what happens, as it stands in the configuration. */
export const WebhookSpec = z.strictObject({
  base_url: z.string().refine(isBase, 'base_url is not an http or https address without user, query and fragment'),
  headers: headers.default({}),
  /** Signs what is sent. */
  secret: secret().min(16, 'secret is shorter than 16 characters').optional(),
  /** So many events of a conversation are sent at once … */
  event_buffer_size: z.int().min(1).default(5),
  /** … and fewer after so many seconds. */
  flush_delay: z.number().positive().default(30),
  /** So often it is tried again after `retry_delay` seconds, and then less and less often. */
  num_retries: z.int().min(0).default(3),
  retry_delay: z.int().min(0).default(5),
  /** Of one request, unless a single event is larger. */
  max_batch_bytes: z
    .int()
    .min(1)
    .default(5 * 1024 * 1024),
  /** What may wait is bounded by the disk alone, so these two bound nothing; they are known because others set them. */
  max_queue_size: z.int().min(1).optional(),
  max_queue_bytes: z.int().min(1).optional(),
})
export type WebhookSpec = z.output<typeof WebhookSpec>

export const WebhookSpecs = z
  .array(WebhookSpec)
  .refine(specs => new Set(specs.map(webhookId)).size === specs.length, 'two webhooks have the same base_url')
  .default([])

/** Its address is what it is: whatever else changes, it goes on where it was. */
export const webhookId = ({ base_url }: Pick<WebhookSpec, 'base_url'>): string =>
  createHash('sha256').update(trimmed(base_url)).digest('hex').slice(0, 16)

export const trimmed = (url: string): string => url.replace(/\/+$/, '')
