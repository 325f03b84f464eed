import { statusUpdate } from '../api/draft.ts'
import { Fault, fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import type { Log } from '../lib/log.ts'
import * as commands from './conversation.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'
import type { State } from './state.ts'

/**
 * Works on a conversation whose status is `running` until it comes to rest.
 * Contract: appends through the journal only, ends soon once the status is another one, and at once when the signal is aborted, whatever
 * it has under way. While it only waits it ends with `rest`, which is another one when somebody wants it to go on.
 */
export type Work = (id: string, signal: AbortSignal, rest: () => AbortSignal) => Promise<void>

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
  /** Aborted while it is paused. */
  rest: AbortController
  /** Until its interrupt is on record. */
  recording: Promise<unknown>
}

/** How long an interrupt waits for the run to be gone. It is over for everybody else in any case. */
const INTERRUPT_MS = 400

/** One run a conversation: wake, join, interrupt, settle. */
export class Runner {
  readonly #parts: RunnerParts
  readonly #running = new Map<string, Run>()
  readonly #stop = new AbortController()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** An explicit wish for a run. Refused while one is going. */
  async start(id: string): Promise<void> {
    await this.#wish(id, state => {
      if (state.execution_status === 'running' && this.#running.has(id)) throw fault('conversation_running')
      return commands.run(state)
    })
  }

  /** Sees to it that what is on record as running is worked on: by a new run, or by the one that is going before it ends. */
  async wake(id: string): Promise<void> {
    await this.#wish(id, commands.wake)
  }

  /** Answers what waits, and goes on when all is answered. */
  async answer(id: string, answer: commands.Answer): Promise<void> {
    await this.#wish(id, state => commands.answer(state, answer))
  }

  /** Once this resolves nothing new begins. What is executing goes on to its end. */
  async pause(id: string): Promise<void> {
    await this.#parts.journal.transact(id, ({ state }) => commands.pause(state))
    const run = this.#running.get(id)
    if (run) {
      run.again = false
      run.rest.abort()
    }
    await this.#tellState(id)
  }

  /** Aborts what is executing. Its result, and the state, are on record when this resolves. */
  async interrupt(id: string): Promise<void> {
    const run = this.#running.get(id)
    const recording = this.#parts.journal.transact(id, ({ state }) => commands.interrupt(state))
    if (run) {
      run.again = false
      run.recording = recording.catch(() => undefined)
      // Before it is on record: what the run adds after it has to know.
      run.interrupt.abort(new DOMException('The run was interrupted', 'AbortError'))
    }
    await recording
    if (run) {
      await Promise.race([run.done, new Promise(resolve => setTimeout(resolve, INTERRUPT_MS).unref())])
    }
    if (!run || this.#running.get(id) === run) await this.#tellState(id)
  }

  /** Ends a run whose conversation goes away. */
  async abandon(id: string): Promise<void> {
    const run = this.#running.get(id)
    if (!run) return
    run.again = false
    run.interrupt.abort(new DOMException('The conversation is deleted', 'AbortError'))
    await run.done
  }

  /** The conversations that are being worked on. */
  going(): string[] {
    return [...this.#running.keys()]
  }

  /** Waits until the step that is going has ended, and interrupts it when that takes longer. */
  async rest(id: string, patience: number): Promise<void> {
    const run = this.#running.get(id)
    if (!run) return
    await this.pause(id)
    const impatience = setTimeout(() => void this.interrupt(id).catch(() => undefined), patience)
    await run.done
    clearTimeout(impatience)
  }

  /** Ends what is going without a word in the log: the next start takes it up again. */
  async close(): Promise<void> {
    this.#stop.abort(new DOMException('The server stops', 'AbortError'))
    await Promise.all(this.#running.values().map(({ done }) => done))
  }

  async #wish(id: string, command: (state: State) => commands.Wish): Promise<void> {
    let runs = false
    await this.#parts.journal.transact(id, ({ state }) => {
      const wish = command(state)
      runs = wish.runs
      return wish
    })
    if (!runs || this.#stop.signal.aborted) return
    const run = this.#running.get(id)
    if (run) {
      run.again = true
      if (run.rest.signal.aborted) run.rest = new AbortController()
    } else this.#begin(id)
  }

  #begin(id: string): void {
    const idle = Promise.resolve()
    const interrupt = new AbortController()
    const run = { done: idle, again: false, interrupt, rest: new AbortController(), recording: idle }
    this.#running.set(id, run)
    run.done = this.#carryOut(id, run)
  }

  async #carryOut(id: string, run: Run): Promise<void> {
    const { work, journal, log } = this.#parts
    const signal = AbortSignal.any([this.#stop.signal, run.interrupt.signal])
    try {
      do {
        run.again = false
        await work(id, signal, () => run.rest.signal)
      } while (run.again && !signal.aborted)
    } catch (error) {
      const deleted = error instanceof Fault && error.code === 'conversation_not_found'
      if (!deleted && !signal.aborted) {
        log.error('run', { conversation: id, error: error instanceof Error ? error.stack : String(error) })
        await journal.transact(id, ({ state }) => crashed(state, error)).catch(() => undefined)
      }
    } finally {
      this.#running.delete(id)
    }
    await run.recording
    await this.#tellState(id)
    // A wish that came after the last look, while the run was ending.
    if (run.again && !this.#stop.signal.aborted && !this.#running.has(id)) await this.wake(id).catch(() => undefined)
  }

  async #tellState(id: string): Promise<void> {
    const { feed, snapshot } = this.#parts
    if (!feed.isHeard(id)) return
    const state = await snapshot(id).catch(() => undefined)
    if (state) feed.passing(id, state)
  }
}

/** Our own failure. The conversation stays usable. */
const crashed = (state: State, error: unknown) =>
  state.execution_status !== 'running'
    ? {}
    : {
        drafts: [
          statusUpdate('error' as const),
          {
            kind: 'ConversationErrorEvent' as const,
            source: 'environment' as const,
            code: error instanceof Fault ? error.code : 'InternalError',
            detail: error instanceof Error ? error.message : String(error),
            classification: { kind: 'internal' as const, retryable: true, user_action: 'retry' as const },
          },
        ],
      }
