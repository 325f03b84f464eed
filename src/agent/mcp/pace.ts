import { BYTES_A_SECOND, MESSAGES_A_SECOND } from './limits.ts'

/** Holds one server to what is read of it in a second. */
export class Pace {
  #since = performance.now()
  #messages = 0
  #bytes = 0

  /** Notes what was read, and tells how many milliseconds to wait before reading on. */
  take(messages: number, bytes: number): number {
    const now = performance.now()
    if (now - this.#since >= 1_000) {
      this.#since = now
      this.#messages = 0
      this.#bytes = 0
    }
    this.#messages += messages
    this.#bytes += bytes
    const seconds = Math.max(this.#messages / MESSAGES_A_SECOND, this.#bytes / BYTES_A_SECOND)
    return seconds < 1 ? 0 : Math.max(0, this.#since + seconds * 1_000 - now)
  }
}
