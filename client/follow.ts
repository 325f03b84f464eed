import { ClientError, type ClientOptions } from '../src/api/client.ts'
import type { Event } from '../src/api/events.ts'
import { frames } from './frames.ts'

export interface FollowOptions extends ClientOptions {
  conversation: string
  /** The id of the last event that is known; from the first one unless given. */
  after?: string
  /** Ends it. */
  signal?: AbortSignal
}

export interface Followed {
  event: Event
  /** Not in the log, and not told again: a snapshot of the state, or a piece of an answer as it comes. */
  passing: boolean
}

/** The server says something at least every 15 s. */
const SILENCE_MS = 45_000
const FIRST_DELAY_MS = 250
const LAST_DELAY_MS = 15_000

/** What the server says when it ends a stream for good. */
const GONE = 4004

/**
 * Every event of a conversation, once, in order, without a gap; also across lost connections and restarts of the server. Ends when
 * the conversation is deleted or the signal is aborted; throws a ClientError when the server refuses.
 */
export async function* follow({ signal, after, ...where }: FollowOptions): AsyncGenerator<Followed> {
  let last = after
  let delay = FIRST_DELAY_MS
  while (!signal?.aborted) {
    const silence = new Silence(signal)
    try {
      const response = await open(where, last, silence.signal)
      for await (const { id, event, data } of frames(response.body!, () => silence.broken())) {
        delay = FIRST_DELAY_MS
        if (event === 'close') {
          if (JSON.parse(data).code === GONE) return
          break
        }
        yield { event: JSON.parse(data), passing: id === undefined }
        last = id ?? last
      }
    } catch (error) {
      if (error instanceof ClientError && error.status < 500 && error.status !== 429) throw error
    } finally {
      silence.end()
    }
    await pause(delay * (0.5 + Math.random() / 2), signal)
    delay = Math.min(delay * 2, LAST_DELAY_MS)
  }
}

type Where = Omit<FollowOptions, 'signal' | 'after'>

async function open(
  { baseUrl, key, fetch: send = fetch, conversation }: Where,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const response = await send(`${baseUrl}/api/conversations/${encodeURIComponent(conversation)}/events/stream`, {
    headers: { ...(key !== undefined && { 'X-Session-API-Key': key }), ...(after && { 'Last-Event-ID': after }) },
    signal,
  })
  if (response.ok && response.body) return response
  throw new ClientError('follow', response.status, await response.text())
}

/** Aborts when nothing was heard for too long: a connection may be dead without anybody having said so. */
class Silence {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(outer: AbortSignal | undefined) {
    this.signal = outer ? AbortSignal.any([outer, this.#controller.signal]) : this.#controller.signal
    this.broken()
  }

  broken(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE_MS)
  }

  /** Lets go of the connection too. */
  end(): void {
    clearTimeout(this.#timer)
    this.#controller.abort()
  }
}

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
