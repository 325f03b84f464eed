import { REFUSALS_KEPT } from './limits.ts'

/** Something inside asked for a host that it may not reach. */
export interface Refusal {
  sandbox: string
  host: string
  port: number
  why: string
  /** What a person would call the command that asked, if it said so. */
  command: string | undefined
  /** Milliseconds since 1970. */
  at: number
}

/** The same refusal, however often: `at` is the last time. */
export type CountedRefusal = Refusal & { count: number }

/** The last refusals of each sandbox, for people to see what it lacks. In memory: they are hints, not history. */
export class Refusals {
  /** By sandbox, then by what makes two refusals the same; the newest last. */
  readonly #bySandbox = new Map<string, Map<string, CountedRefusal>>()

  record(refusal: Refusal): void {
    const kept = this.#bySandbox.getOrInsertComputed(refusal.sandbox, () => new Map())
    const key = JSON.stringify([refusal.host, refusal.port, refusal.command])
    const count = (kept.get(key)?.count ?? 0) + 1
    kept.delete(key)
    kept.set(key, { ...refusal, count })
    if (kept.size > REFUSALS_KEPT) kept.delete(kept.keys().next().value!)
  }

  /** Newest first. */
  of(sandbox: string): CountedRefusal[] {
    return [...(this.#bySandbox.get(sandbox)?.values() ?? [])].reverse()
  }

  forget(sandbox: string): void {
    this.#bySandbox.delete(sandbox)
  }
}
