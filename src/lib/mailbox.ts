/**
 * Work for many keys: of one key in order, one group at a time; of different keys side by side. What arrives while a
 * group is being worked on becomes the next group.
 */
export class Mailboxes<T> {
  readonly #waiting = new Map<string, T[]>()
  readonly #work: (key: string, group: T[]) => Promise<void>

  /** Contract: `work` must not reject. */
  constructor(work: (key: string, group: T[]) => Promise<void>) {
    this.#work = work
  }

  post(key: string, item: T): void {
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.push(item)
    else {
      this.#waiting.set(key, [item])
      queueMicrotask(() => this.#drain(key))
    }
  }

  async #drain(key: string): Promise<void> {
    for (;;) {
      const group = this.#waiting.get(key)
      if (!group || group.length === 0) break
      this.#waiting.set(key, [])
      await this.#work(key, group)
    }
    this.#waiting.delete(key)
  }
}
