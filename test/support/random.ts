/** A seeded source of randomness: the same seed gives the same test. */
export class Random {
  readonly seed: number
  #state: number

  constructor(seed = Number(process.env.GANTRY_TEST_SEED ?? Date.now() % 1_000_000)) {
    this.seed = seed
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** In [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)]!
  }
}
