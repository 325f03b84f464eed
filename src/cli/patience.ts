/** A server that does not answer is waited for as long: a restart takes less. */
const PATIENCE_MS = 30_000

/** Follows a server that may go away for a moment: says so once, and gives up on one that stays away. */
export class Patience implements Disposable {
  /** Whether it was waited for in vain. */
  isOver = false
  readonly #onLost: () => void
  readonly #giveUp: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(onLost: () => void, giveUp: () => void) {
    this.#onLost = onLost
    this.#giveUp = giveUp
  }

  /** For a stream that tries again by itself. */
  readonly fetch: typeof fetch = async (input, init) => {
    try {
      const response = await fetch(input, init)
      this[Symbol.dispose]()
      return response
    } catch (error) {
      if (!init?.signal?.aborted) this.#lost()
      throw error
    }
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #lost(): void {
    if (this.#timer) return
    this.#onLost()
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#giveUp()
    }, PATIENCE_MS)
  }
}
