import type { Action, ToolDefinition } from '../api/actions.ts'
import type { Observation } from '../api/observations.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'

/**
 * What an agent can do. Made for one conversation, and may remember things between calls.
 *
 * What the tool was asked and could not do is an observation with `is_error`: the model reads it and goes on. A rejection is for what
 * the tool did not expect. What is observed is bounded by the tool.
 */
export interface Tool {
  readonly name: string
  /** As events show it; undefined for those that readers of events do not know. */
  readonly definition: ToolDefinition | undefined
  readonly description: string
  /** The arguments as a JSON schema of type object. */
  readonly parameters: Record<string, unknown>
  /** It changes nothing, so that nobody has to be asked for its risk. */
  readonly readOnly: boolean
  /** Whether several calls of it may run side by side, and beside others that may; those that change nothing may. */
  readonly sideBySide?: boolean
  /** Throws Misunderstood when these are no arguments for it. */
  understand(args: Record<string, unknown>): Action
  /** Rejects with the reason of the signal as soon as that is aborted; what it started is ended then. */
  run(action: Action, hands: Hands): Promise<Observation>
  /** What the model should know of a call that the end of a server cut short, if there is more than that it was. */
  trace?(action: Action): Promise<string | undefined>
  /** Told once, before the first call, what its predecessors in this conversation observed. */
  recall?(observations: readonly Observation[]): void
  /**
   * Begins what a call will most likely need, while the model still thinks. It ends with the signal, unless a call came. The working
   * directory may not be there yet.
   */
  warm?(hands: Hands): void
  /** Ends whatever it left running. */
  close?(): Promise<void>
}

/** What a tool acts with. */
export interface Hands {
  /** Whose they are: what one left running is told from what others did by it. */
  readonly conversation: string
  /** Where it acts. Brought to life when first asked for, and again should it be gone. */
  sandbox(): Promise<Sandbox>
  /** The conversation's folder in there: absolute, and made when the sandbox is first asked for. */
  readonly workingDir: string
  /** The variables a command gets: of the conversation's secrets, those that its text names. */
  secretsFor(text: string): Promise<Record<string, string>>
  /** What its commands may reach, when that is less than their sandbox may. */
  readonly egress: Egress | undefined
  readonly signal: AbortSignal
}

/** The model called a tool in a way that means nothing. The message is for the model: what is wrong, and what would be right. */
export class Misunderstood extends Error {}
