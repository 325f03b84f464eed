/** Neighbours that are drawn or left out together. */
export interface Chunk<T> {
  /** Stays what it is when items are added before or after. */
  key: number
  items: readonly T[]
}

const SIZE = 40

/** Cuts a list that grows at both ends: counted from one item that is in it for good, so that what is cut stays cut. */
export class Chunker<T> {
  readonly #keyOf: (item: T) => string
  #origin: string | undefined
  #last: readonly Chunk<T>[] = []

  constructor(keyOf: (item: T) => string) {
    this.#keyOf = keyOf
  }

  /** A chunk with the same items is the same object as the last time. */
  cut(items: readonly T[]): readonly Chunk<T>[] {
    const found = items.findIndex(item => this.#keyOf(item) === this.#origin)
    const origin = Math.max(found, 0)
    if (found < 0) this.#origin = items[0] && this.#keyOf(items[0])
    const known = new Map(this.#last.map(chunk => [chunk.key, chunk]))
    const chunks: Chunk<T>[] = []
    for (let from = 0; from < items.length; ) {
      const key = Math.floor((from - origin) / SIZE)
      const to = Math.min(origin + (key + 1) * SIZE, items.length)
      const chunk = { key, items: items.slice(from, to) }
      const before = known.get(key)
      chunks.push(before && same(before.items, chunk.items) ? before : chunk)
      from = to
    }
    this.#last = chunks
    return chunks
  }
}

const same = <T>(a: readonly T[], b: readonly T[]): boolean =>
  a.length === b.length && a.every((item, at) => item === b[at])
