import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.ts'
import { MESSAGE_BYTES, REQUESTS_AT_ONCE } from './limits.ts'
import { Pace } from './pace.ts'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

interface Options {
  /** Until the answer to what is sent must be complete. */
  answerMs: number
  /** How long a stream of events may be silent; for ever unless given. */
  silenceMs: number | undefined
  /** The answer to something sent broke off: whoever waits for it would wait in vain. */
  onBroken(error: unknown): void
}

/** A `fetch` for one server that is bounded in size, number, pace and time, whatever the server does. */
export function boundedFetch(fetch: Fetch, { answerMs, silenceMs, onBroken }: Options): Fetch {
  let underWay = 0
  return async (url, init = {}) => {
    if (underWay >= REQUESTS_AT_ONCE) throw new Failure('connection', 'it leaves too many requests unanswered')
    underWay += 1
    const sends = init.method === 'POST'
    const isSubscription = new Headers(init.headers).get('mcp-method') === 'subscriptions/listen'
    const late = sends && !isSubscription ? AbortSignal.timeout(answerMs) : undefined
    const signal = AbortSignal.any([init.signal, late].filter(one => !!one))
    try {
      const response = await fetch(url, { ...init, signal })
      if (response.body === null) {
        underWay -= 1
        return response
      }
      const streams = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
      const body = bounded(response.body, {
        measure: streams ? eventMeasure() : wholeMeasure(),
        silenceMs: streams ? silenceMs : undefined,
        onEnd: error => {
          underWay -= 1
          if (error !== undefined && sends && !signal.aborted) onBroken(error)
        },
      })
      return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
    } catch (error) {
      underWay -= 1
      throw error
    }
  }
}

/** Tells of each part of a body how many messages end in it, and how large the one that has not ended yet is. */
type Measure = (chunk: Uint8Array) => { messages: number; pending: number }

function wholeMeasure(): Measure {
  let pending = 0
  return chunk => {
    pending += chunk.length
    return { messages: 0, pending }
  }
}

/** Events end with an empty line. One whose end falls between two parts counts with its successor. */
function eventMeasure(): Measure {
  let pending = 0
  return chunk => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let messages = 0
    let last = -1
    for (const end of ['\n\n', '\r\n\r\n'])
      for (let at = bytes.indexOf(end); at !== -1; at = bytes.indexOf(end, at + end.length)) {
        messages += 1
        last = Math.max(last, at)
      }
    pending = last === -1 ? pending + bytes.length : bytes.length - last
    return { messages, pending }
  }
}

interface Bounds {
  measure: Measure
  silenceMs: number | undefined
  /** Once; with an error unless it came to its end or nobody wants it any more. */
  onEnd(error?: unknown): void
}

function bounded(body: ReadableStream<Uint8Array>, { measure, silenceMs, onEnd }: Bounds): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const pace = new Pace()
  let over = false
  const end = (error?: unknown) => {
    if (!over) onEnd(error)
    over = true
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await (silenceMs === undefined ? reader.read() : within(silenceMs, reader.read()))
        if (done) {
          end()
          return controller.close()
        }
        const { messages, pending } = measure(value)
        if (pending > MESSAGE_BYTES)
          throw new Failure('connection', `it sent a message of more than ${MESSAGE_BYTES / 1e6} MB`)
        const wait = pace.take(messages, value.length)
        if (wait > 0) await delay(wait)
        controller.enqueue(value)
      } catch (error) {
        end(error)
        reader.cancel(error).catch(() => undefined)
        controller.error(error)
      }
    },
    cancel(reason) {
      end()
      return reader.cancel(reason)
    },
  })
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, ms, new Failure('timeout', `it said nothing for ${ms / 1_000} s`))
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
