import { ModelError } from '../model.ts'
import { LARGEST_ANSWER_BYTES, LONGEST_ANSWER_MS } from './limits.ts'

export type Fetch = typeof globalThis.fetch

interface LineOptions {
  fetch: Fetch
  /** Until the first word. */
  firstMs: number
  /** Between two signs of life, from then on. */
  silenceMs: number
  /** Changes the body of the request. Not for what is signed. */
  edit: ((body: Record<string, unknown>) => Record<string, unknown>) | undefined
  signal: AbortSignal
}

/** Made once: an error with its trace for each question that ended well would cost more than closing its line. */
const OVER = new DOMException('The line is closed', 'AbortError')

/** The connection of one question: it ends with the signal, in silence, or when too much comes. Disposing closes it. */
export class Line implements Disposable {
  readonly #options: LineOptions
  readonly #gone = new AbortController()
  readonly #longest: NodeJS.Timeout
  #silence: NodeJS.Timeout
  #speaking = false
  #bytes = 0

  constructor(options: LineOptions) {
    this.#options = options
    options.signal.addEventListener('abort', this.#hangUp)
    this.#silence = this.#limit(options.firstMs, 'without a word')
    this.#longest = this.#limit(LONGEST_ANSWER_MS, 'and was not done')
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** The model has begun to speak: from now on it may be silent for less long. */
  spoken(): void {
    if (this.#speaking) return
    this.#speaking = true
    clearTimeout(this.#silence)
    this.#silence = this.#limit(this.#options.silenceMs, 'of silence in the middle of its answer')
  }

  /** What the promise brings, unless the line is gone first. */
  async whole<T>(promise: Promise<T>): Promise<T> {
    let leave = () => {}
    const gone = new Promise<never>((_, reject) => {
      leave = () => reject(this.signal.reason)
      this.signal.addEventListener('abort', leave)
    })
    try {
      return await Promise.race([promise, gone])
    } finally {
      this.signal.removeEventListener('abort', leave)
    }
  }

  readonly fetch: Fetch = async (url, init) => {
    const { edit, fetch } = this.#options
    const body = edit && typeof init?.body === 'string' ? JSON.stringify(edit(JSON.parse(init.body))) : init?.body
    // A redirect would carry the key to somebody the order does not name.
    const response = await fetch(url, { ...init, body, redirect: 'manual', signal: this.signal })
    if (!response.body || [204, 205, 304].includes(response.status)) return response
    const watched = this.#watch(response.body.getReader())
    return new Response(watched, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }

  /** As it comes, one piece at a time: a transform stream would do the same at several times the price. */
  #watch(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream({
      pull: async to => {
        const { value, done } = await reader.read()
        if (done) return to.close()
        this.#silence.refresh()
        this.#bytes += value.length
        if (this.#bytes <= LARGEST_ANSWER_BYTES) return to.enqueue(value)
        const tooMuch = new ModelError('LLMServiceUnavailableError', 'The model sent more than any answer has')
        this.#gone.abort(tooMuch)
        throw tooMuch
      },
      cancel: reason => reader.cancel(reason),
    })
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#hangUp)
    clearTimeout(this.#silence)
    clearTimeout(this.#longest)
    this.#gone.abort(OVER)
  }

  readonly #hangUp = () => this.#gone.abort(this.#options.signal.reason)

  #limit(ms: number, what: string): NodeJS.Timeout {
    return setTimeout(() => {
      const seconds = Math.round(ms / 1000)
      this.#gone.abort(
        new ModelError(
          'LLMTimeoutError',
          `The model was given up after ${seconds} s ${what}: try again, or raise timeout`,
        ),
      )
    }, ms)
  }
}
