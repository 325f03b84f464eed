import type { WebhookSpec } from './spec.ts'

/** Of one wait, unless the receiver asks for longer: whoever comes back need not wait long to be noticed. */
const LONGEST_WAIT_MS = 300_000
/** Whatever a receiver asks for: a mistyped date must not silence it for ever. */
const LONGEST_ASKED_MS = 3_600_000

/**
 * In milliseconds, before the next try: the first ones at a steady pace, then ever longer, by a chance in [0, 1) so that those
 * who failed together do not come back together. Never sooner than the receiver asked.
 */
export function waitBefore(
  tries: number,
  { num_retries, retry_delay }: Pick<WebhookSpec, 'num_retries' | 'retry_delay'>,
  asked: number,
  chance: number,
): number {
  const further = tries - num_retries
  const longest = Math.min(Math.max(1, retry_delay) * 1000 * 2 ** further, LONGEST_WAIT_MS)
  const own = further <= 0 ? retry_delay * 1000 : longest * (0.5 + chance / 2)
  return Math.round(Math.max(own, Math.min(asked, LONGEST_ASKED_MS)))
}

/** What `Retry-After` asks for, in milliseconds: in seconds, or as a date. */
export function retryAfterMs(header: string | null, now: number): number {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const at = /^[A-Z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? 0 : Math.max(0, at - now)
}
