import type { Draft } from '../api/draft.ts'
import type { ActionEvent, Event } from '../api/events.ts'
import type { Metrics } from '../api/llm.ts'
import type { SecurityRisk } from '../api/security.ts'
import type { Delta } from './model.ts'

/** A conversation as the loop sees it: what was said so far, and the only way to add to it. */
export interface Book {
  /** The newest events of the branch, oldest first, whoever added them: some hundreds. */
  readonly branch: readonly Event[]
  /** What the model is shown of the branch, oldest first. */
  readonly shown: readonly Event[]
  /** The newest message of the user's that is on it. */
  readonly lastUserMessage: string | null
  /** Decides on the conversation as it is at that very moment, and keeps what was decided in one go. */
  keep(decide: (now: Standing) => Entry): Promise<Standing>
  /** Told to whoever listens, and not kept. */
  tell(delta: Delta): void
}

export interface Standing {
  /** False once it is paused, interrupted or anything else than running: nothing new may begin then. */
  running: boolean
  finished: boolean
  /** The actions without a result, in call order. */
  open: readonly OpenAction[]
  /** Of these, those that a hook blocked, and why. */
  blocked: Readonly<Record<string, string>>
  /** Whether the policy of this moment lets all of these run without asking. */
  allows(actions: readonly ActionEvent[]): boolean
  /** What is shown as the risk of an action, given what the model claims. */
  risk(claimed: SecurityRisk, readOnly: boolean): SecurityRisk
  /** The sums of every model that was used. */
  metrics: Readonly<Record<string, Metrics>>
  /** The names of the rules for files that were told by now. */
  rules: readonly string[]
  /** Free notes that clients are shown. */
  notes: Readonly<Record<string, unknown>>
  /** Changes with every message of the user's. */
  lastUserMessage: string | null
}

/** What is to be kept. */
export interface Entry {
  drafts?: readonly Draft[]
  /** How open actions stand from now on, by id. */
  stands?: Readonly<Record<string, Stand>>
  /** The metrics that changed, by usage. */
  metrics?: Readonly<Record<string, Metrics>>
  learnt?: Learnt
}

/** The names of skills that came to bear. */
export interface Learnt {
  /** For files that were touched. */
  rules?: readonly string[]
  /** That the agent asked for. */
  invoked?: readonly string[]
}

/**
 * - `begun`: it may have had effects.
 * - `held`: it was not begun, for others come before it or the run was paused.
 * - `asked`: it waits for an answer to this very action.
 * - `approved`, `rejected`: it has been answered and not been begun.
 */
export type Stand = 'begun' | 'held' | 'asked' | 'approved' | 'rejected'

export interface OpenAction {
  id: string
  /** The tool call it is. */
  call: string
  tool: string
  /** Of what will run. */
  hash: string
  stand: Stand
  /** Why it was rejected. */
  reason?: string
}
