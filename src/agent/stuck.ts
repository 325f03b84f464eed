import type { ActionEvent, Event } from '../api/events.ts'
import { batchesOf } from './batches.ts'

/** How far back is looked: enough for the longest pattern, however long the conversation. */
const WINDOW = 40
/** Turns that are the same, result included. */
const SAME_TURNS = 4
/** Turns that come and go by twos. */
const ALTERNATING_TURNS = 6
/** The same, of turns that wait: what is waited for takes its time. */
const WAITING_TURNS = 12
/** The same call that fails; one more is too many. */
const SAME_ERRORS = 3
/** Words without a deed. */
const MESSAGES = 3

/** What the model is told once, when the same call has failed for the third time. */
export const NUDGE =
  'The same call has now failed three times, and sending it again will not change that. Read the error, then do something else: other arguments, another tool, or a smaller step. If nothing can help, say what is in the way and finish.'

/**
 * Whether the agent goes round in circles since the user last spoke, or is about to. What it thinks meanwhile does not count, nor what
 * differs by nature, such as ids and times. Looking at something that goes on or changes is no circle.
 */
export function stuckness(events: readonly Event[]): 'stuck' | 'nudge' | null {
  const recent = sinceUser(events.slice(-WINDOW))
  if (talksOnly(recent)) return 'stuck'
  const turns = turnsOf(recent)
  const last = turns.at(-1)
  if (!last) return null
  const failures = streak(turns, turn => turn.action === last.action && turn.result === FAILED)
  if (failures > SAME_ERRORS) return 'stuck'
  const isTold = recent.findLastIndex(isCorrective) > last.end
  if (failures === SAME_ERRORS && !isTold) return 'nudge'
  return isRepeating(turns, 1, SAME_TURNS) || isRepeating(turns, 2, ALTERNATING_TURNS) ? 'stuck' : null
}

/** Whether the newest answer has neither words nor calls. */
export function isSilent(events: readonly Event[]): boolean {
  const last = events.findLast(event => event.kind === 'ActionEvent' || isMessage(event, 'agent'))
  return last !== undefined && isWordless(last)
}

const isWordless = (event: Event): boolean =>
  event.kind === 'MessageEvent' &&
  event.llm_message.content.every(part => part.type === 'text' && part.text.trim() === '')

const isMessage = (event: Event, source: 'user' | 'agent' | 'environment'): boolean =>
  event.kind === 'MessageEvent' && event.source === source

const isCorrective = (event: Event): boolean => isMessage(event, 'environment')

const sinceUser = (events: readonly Event[]): readonly Event[] =>
  events.slice(events.findLastIndex(event => isMessage(event, 'user')) + 1)

function talksOnly(events: readonly Event[]): boolean {
  const acted = events.findLastIndex(({ kind }) => kind === 'ActionEvent')
  return events.slice(acted + 1).filter(event => isMessage(event, 'agent') && !isWordless(event)).length >= MESSAGES
}

/** What one answer of the model's did, and what came of it; each as a text that is equal when they are. */
interface Turn {
  action: string
  result: string
  /** Whether it waited for something, and how patiently that is borne. */
  waits: 'no' | 'sleeps' | 'watches'
  /** Where its last result stands. */
  end: number
}

/** The result of a turn in which every call was answered with an error. */
const FAILED = 'failed'

const turnsOf = (events: readonly Event[]): Turn[] =>
  batchesOf(events)
    .filter(({ isAnswered }) => isAnswered)
    .map(({ actions, results, last }) => turnOf(actions, results as Event[], last))

function turnOf(batch: readonly ActionEvent[], results: readonly Event[], end: number): Turn {
  const waits = batch.map((action, i) => waitsWith(action, results[i]!))
  return {
    action: JSON.stringify(batch.map(({ tool_name, action, tool_call }) => [tool_name, action ?? tool_call.arguments])),
    result: results.every(({ kind }) => kind === 'AgentErrorEvent') ? FAILED : JSON.stringify(results.map(toldBy)),
    waits: waits.includes('watches') ? 'watches' : waits.includes('sleeps') ? 'sleeps' : 'no',
    end,
  }
}

function toldBy(result: Event): unknown {
  if (result.kind === 'AgentErrorEvent') return result.error
  if (result.kind === 'UserRejectObservation') return result.rejection_reason
  return result.kind === 'ObservationEvent' ? JSON.stringify(result.observation, lasting) : null
}

const VOLATILE: ReadonlySet<string> = new Set(['pid', 'full_output_save_dir', 'modified_time'])
const lasting = (key: string, value: unknown): unknown => (VOLATILE.has(key) || value === null ? undefined : value)

/** Looking at a command that still runs, or sleeping before the next look. */
function waitsWith({ action }: ActionEvent, result: Event): Turn['waits'] {
  if (action?.kind !== 'TerminalAction' || typeof action.command !== 'string') return 'no'
  if (/(?:^|[;&|(\n]|\bdo\b)\s*sleep\s/.test(action.command)) return 'sleeps'
  const isRunning =
    result.kind === 'ObservationEvent' &&
    result.observation.kind === 'TerminalObservation' &&
    result.observation.exit_code === -1
  return isRunning && action.command.trim() === '' ? 'watches' : 'no'
}

/** How many of the last turns are so. */
const streak = (turns: readonly Turn[], fits: (turn: Turn) => boolean): number =>
  turns.length - 1 - turns.findLastIndex(turn => !fits(turn))

/** Whether the last turns come round after so many, often enough for what they do. */
function isRepeating(turns: readonly Turn[], period: number, often: number): boolean {
  const cycle = turns.slice(-period)
  if (cycle.length < period || cycle.some(({ waits }) => waits === 'watches')) return false
  let length = period
  for (let i = turns.length - 1 - period; i >= 0 && isSame(turns[i]!, turns[i + period]!); i--) length++
  return length >= (cycle.some(({ waits }) => waits === 'sleeps') ? WAITING_TURNS : often)
}

const isSame = (one: Turn, other: Turn): boolean => one.action === other.action && one.result === other.result
