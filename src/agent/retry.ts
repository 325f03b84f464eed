import { setTimeout as after } from 'node:timers/promises'
import type { LLM } from '../api/llm.ts'
import { ModelError } from './model.ts'

/** Of one wait, whatever a provider asks for: beyond it a person should know, and see the run end. */
const LONGEST_WAIT_MS = 600_000

export interface Patience {
  llm: Pick<LLM, 'num_retries' | 'retry_multiplier' | 'retry_min_wait' | 'retry_max_wait'>
  signal: AbortSignal
  /** Asked for before each wait: aborted when there shall be no further try. */
  rest?(): AbortSignal
  /** Told before each wait: when it will end, the number of the try that failed, from 1, and how. */
  onWait?(until: Date, attempt: number, error: ModelError): void
  clock?: Clock
}

/** How time passes, and chance falls. */
export interface Clock {
  now(): number
  wait(ms: number, signal: AbortSignal): Promise<unknown>
  /** In [0, 1). */
  random(): number
}

const WALL: Clock = {
  now: Date.now,
  wait: (ms, signal) => after(ms, undefined, { signal }),
  random: Math.random,
}

/** There was no further try, for whoever asked wants to rest. */
export class Rested extends Error {}

/**
 * Asks again, from the start, while the same question may yet get an answer. Rejects with the last failure, with the
 * reason of the signal as soon as that is aborted, or with Rested.
 */
export async function patiently<T>(ask: () => Promise<T>, patience: Patience): Promise<T> {
  const { llm, signal, rest = () => signal, onWait, clock = WALL } = patience
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError) || !error.retryable || attempt > llm.num_retries) throw error
      const resting = rest()
      if (resting.aborted) throw new Rested()
      const ms = waitBefore(attempt, llm, error.retryAfterMs, clock.random())
      onWait?.(new Date(clock.now() + ms), attempt, error)
      await clock.wait(ms, AbortSignal.any([signal, resting])).catch(failure => {
        signal.throwIfAborted()
        throw resting.aborted ? new Rested() : failure
      })
    }
  }
}

/**
 * In milliseconds: what the provider asked for; else anything between the least wait and one that doubles with every try, up
 * to the greatest, so that those who failed together do not come back together.
 */
export function waitBefore(attempt: number, llm: Patience['llm'], asked: number | undefined, chance: number): number {
  if (asked !== undefined) return Math.min(asked, LONGEST_WAIT_MS)
  const least = llm.retry_min_wait
  const most = Math.max(least, Math.min(llm.retry_multiplier * 2 ** attempt, llm.retry_max_wait))
  return Math.min(Math.round((least + chance * (most - least)) * 1000), LONGEST_WAIT_MS)
}
