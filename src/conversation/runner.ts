import { Fault, fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import type { Log } from '../lib/log.ts'
import { statusUpdate } from './draft.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'

/**
 * Works on a conversation until it comes to rest, and leaves it with another status than `running`.
 * Contract: appends through the journal only, and heeds the signal.
 */
export type Work = (id: string, journal: Journal, signal: AbortSignal) => Promise<void>

export interface RunnerParts {
  journal: Journal
  feed: Feed
  work: Work
  snapshot(id: string): Promise<Event | undefined>
  log: Log
}

interface Run {
  done: Promise<void>
  again: boolean
  interrupt: AbortController
}

/** One run a conversation. */
export class Runner {
  readonly #parts: RunnerParts
  readonly #running = new Map<string, Run>()
  readonly #stop = new AbortController()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Starts a run. Refused while one is going. */
  async start(id: string): Promise<void> {
    if (!(await this.#parts.journal.view(id))) throw fault('conversation_not_found', id)
    if (this.#running.has(id)) throw fault('conversation_running')
    this.#begin(id)
  }

  /** Starts a run, or has the one that is going look again before it ends. */
  wake(id: string): void {
    const run = this.#running.get(id)
    if (run) run.again = true
    else this.#begin(id)
  }

  /** The conversations that are being worked on. */
  going(): string[] {
    return [...this.#running.keys()]
  }

  /** Waits until the step that is going has ended, and interrupts it when that takes longer. */
  async rest(id: string, patience: number): Promise<void> {
    const run = this.#running.get(id)
    if (!run) return
    const impatience = setTimeout(() => run.interrupt.abort(), patience)
    await run.done
    clearTimeout(impatience)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values().map(({ done }) => done))
  }

  #begin(id: string): void {
    const run = { done: Promise.resolve(), again: false, interrupt: new AbortController() }
    this.#running.set(id, run)
    run.done = this.#carryOut(id, run)
  }

  async #carryOut(id: string, run: Run): Promise<void> {
    const { journal, work, feed, snapshot, log } = this.#parts
    const signal = AbortSignal.any([this.#stop.signal, run.interrupt.signal])
    try {
      do {
        run.again = false
        await journal.transact(id, () => ({ drafts: [statusUpdate('running')] }))
        await work(id, journal, signal)
      } while (run.again && !signal.aborted)
    } catch (error) {
      const deleted = error instanceof Fault && error.code === 'conversation_not_found'
      if (!deleted) log.error('run', { conversation: id, error: String(error) })
    } finally {
      this.#running.delete(id)
    }
    if (!feed.isHeard(id)) return
    const state = await snapshot(id).catch(() => undefined)
    if (state) feed.passing(id, state)
  }
}

/** The run of a server that has no agent yet: it says what is missing, and the conversation stays usable. */
export const noAgent: Work = async (id, journal) => {
  await journal.transact(id, () => ({
    drafts: [
      statusUpdate('error'),
      {
        kind: 'ConversationErrorEvent',
        source: 'environment',
        code: 'AgentNotAvailable',
        detail: 'This version of Gantry keeps conversations but cannot run agents yet. Nothing you sent is lost.',
        classification: { kind: 'config', retryable: false, user_action: 'none' },
      },
    ],
  }))
}
