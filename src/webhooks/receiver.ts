import { createHmac } from 'node:crypto'
import type { Message } from './message.ts'
import { retryAfterMs } from './patience.ts'
import { trimmed, type WebhookSpec } from './spec.ts'

/** Whoever needs longer to take note is asked again later. */
const ANSWER_MS = 30_000

/** How a message was not taken. */
export interface Refusal {
  /** Holds nothing that was sent. */
  message: string
  status: number | null
  retryAfterMs: number
}

export interface ReceiverParts {
  spec: WebhookSpec
  /** The configured session key, by which receivers of this family know a server. One that we made is nobody else's. */
  key: string | undefined
  fetch: typeof globalThis.fetch
}

/** The other end of a webhook. */
export class Receiver {
  readonly #parts: ReceiverParts

  constructor(parts: ReceiverParts) {
    this.#parts = parts
  }

  /** Undefined when it was taken. Rejects only when `signal` is aborted. */
  async send(message: Message, signal: AbortSignal): Promise<Refusal | undefined> {
    const { spec, fetch } = this.#parts
    try {
      const response = await fetch(trimmed(spec.base_url) + message.path, {
        method: 'POST',
        headers: this.#headers(message),
        body: message.body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      })
      // Unread, it would keep the connection.
      await response.body?.cancel().catch(() => undefined)
      const { ok, status, headers } = response
      if (ok) return undefined
      const asked = retryAfterMs(headers.get('retry-after'), Date.now())
      return { message: `It answered ${status}`, status, retryAfterMs: asked }
    } catch (error) {
      signal.throwIfAborted()
      return { message: reasonOf(error), status: null, retryAfterMs: 0 }
    }
  }

  #headers({ body, headers }: Message): [string, string][] {
    const { spec, key } = this.#parts
    const all = new Headers({ 'Content-Type': 'application/json' })
    // Who checks a signature needs no key of ours, and is not given it.
    if (key !== undefined && spec.secret === undefined) all.set('X-Session-API-Key', key)
    const signed = spec.secret === undefined ? {} : signature(spec.secret, Math.floor(Date.now() / 1000), body)
    for (const [name, value] of Object.entries({ ...spec.headers, ...headers, ...signed })) all.set(name, value)
    return [...all]
  }
}

/** The time is part of what is signed: whoever replays a message cannot make it young again. */
function signature(secret: string, seconds: number, body: string): Record<string, string> {
  const hmac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return { 'X-Gantry-Timestamp': String(seconds), 'X-Gantry-Signature': `sha256=${hmac}` }
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error
  if (name === 'TimeoutError') return `No answer within ${ANSWER_MS / 1000} s`
  return cause instanceof Error && cause.message ? cause.message : message
}
