import type { Event } from '../api/events.ts'
import type { EventRecord } from '../store/store.ts'

/** Contract: none of these may throw, and none may wait. */
export interface Listener<Record = EventRecord> {
  /** Durable events, in log order. */
  events(records: readonly Record[]): void
  /** Something told but not kept: a snapshot or a stream delta. */
  passing(event: Event): void
  /** The conversation is gone. */
  deleted(): void
}

/** Tells listeners what happened to a conversation, or whatever else has a log, after it is durable. */
export class Feed<Record = EventRecord> {
  readonly #listeners = new Map<string, Set<Listener<Record>>>()
  /** When something last happened in any log; 0 before. Milliseconds since 1970. */
  lastEventAt = 0

  /** Returns the function that ends it. */
  listen(id: string, listener: Listener<Record>): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  events(id: string, records: readonly Record[]): void {
    if (records.length === 0) return
    this.lastEventAt = Date.now()
    for (const listener of this.#of(id)) listener.events(records)
  }

  passing(id: string, event: Event): void {
    for (const listener of this.#of(id)) listener.passing(event)
  }

  deleted(id: string): void {
    for (const listener of this.#of(id)) listener.deleted()
  }

  /** Whether anybody would hear. */
  isHeard(id: string): boolean {
    return this.#listeners.has(id)
  }

  #of(id: string): readonly Listener<Record>[] {
    return [...(this.#listeners.get(id) ?? [])]
  }
}
