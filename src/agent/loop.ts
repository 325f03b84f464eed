import { type Draft, stateUpdate, statusUpdate } from '../api/draft.ts'
import type { ActionEvent, ErrorClassification } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import type { Book, Entry, OpenAction, Standing } from './book.ts'
import { type Understood, understand } from './calls.ts'
import { messagesOf, shortened } from './context.ts'
import { AGENT, carryOut, type Execute, failure, giveUp, groupsOf, turns } from './execute.ts'
import { failureKind, ModelError, type ModelRequest, type Reply, type ToolSpec } from './model.ts'
import { Rested } from './retry.ts'
import { isSilent, NUDGE, stuckness } from './stuck.ts'

/** What one step thinks with. It may be another at the next step: a person or the agent may have switched. */
export interface Mind {
  /** One answer, with patience, told as it comes. */
  ask(request: ModelRequest, signal: AbortSignal): Promise<Reply>
  specs: readonly ToolSpec[]
  /** Of one message. */
  maxCharacters: number
  sees: boolean
  /** When this model took over: what others thought before is not for it, and it might refuse it. */
  since?: string | undefined
  /** What an answer adds to what is kept: its tokens and its cost. */
  meter(reply: Reply, now: Standing): Entry
}

export interface LoopParts {
  book: Book
  execute: Execute
  mind(): Promise<Mind>
  /** Makes what the model is shown shorter, where that is due. `tooLong`: how often the provider said so by now. */
  shorten(tooLong: number, signal: AbortSignal): Promise<unknown>
  /** What hooks have to say to an action. */
  before(action: ActionEvent, signal: AbortSignal): Promise<Verdict>
  /** Asked when the agent wants to stop: what keeps it going, with the status, or what is said all the same. */
  atEnd(signal: AbortSignal): Promise<readonly Draft[]>
  /** Why no further model call may be made; undefined while there is money for it. */
  overBudget(now: Standing): Promise<Failure | undefined>
  maxIterations: number
  detectsStuck: boolean
}

export interface Verdict {
  /** They come before the action. */
  drafts: readonly Draft[]
  /** Why it must not run. */
  blocked?: string
}

export interface Failure {
  code: string
  detail: string
  classification: ErrorClassification
}

/** The run cannot go on, for a reason that a person can do something about. */
export class Ended extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.detail)
    this.failure = failure
  }
}

/** Works until the conversation comes to rest: context, model, actions, policy, results. */
export async function work(parts: LoopParts, signal: AbortSignal): Promise<void> {
  const { book } = parts
  try {
    let now = await settle(parts, signal)
    let silences = 0
    for (let steps = 0; now.running; steps++) {
      if (silences >= SILENCES) throw new ModelError('LLMNoResponseError', SILENT)
      const end = await reasonToEnd(parts, now, steps)
      now = end ? await book.keep(({ running }) => ({ drafts: running ? end : [] })) : await step(parts, signal)
      silences = isSilent(book.branch) ? silences + 1 : 0
      if (!now.finished) continue
      const last = await parts.atEnd(signal)
      if (last.length > 0) now = await book.keep(({ finished }) => ({ drafts: finished ? last : [] }))
    }
  } catch (error) {
    if (signal.aborted || error instanceof Rested) return
    if (!(error instanceof ModelError || error instanceof Ended)) throw error
    const drafts = failed(error instanceof Ended ? error.failure : failureOf(error))
    await book.keep(({ running }) => ({ drafts: running ? drafts : [] }))
  }
}

/** How many answers of one run, one after the other, may have neither words nor calls. */
const SILENCES = 3
const SILENT = `The model answered with nothing ${SILENCES} times in a row: try again`

/** Takes up the actions that were left open: answered by a person, held by a pause, or cut short with the server. */
async function settle({ book, execute }: LoopParts, signal: AbortSignal): Promise<Standing> {
  let batch: ActionEvent[] = []
  let cut: readonly OpenAction[] = []
  const now = await book.keep(standing => {
    batch = []
    cut = []
    const { running, open } = standing
    if (!running || open.length === 0) return {}
    const known = open.map(({ id }) => book.shown.find(event => event.id === id))
    if (open.some(({ stand }) => stand === 'begun') || known.includes(undefined)) {
      cut = open
      return {}
    }
    const actions = known as ActionEvent[]
    const wanted = actions.filter((_, i) => open[i]!.stand !== 'rejected')
    if (!standing.allows(wanted)) return { drafts: [statusUpdate('waiting_for_confirmation')] }
    batch = actions
    const [first = []] = groupsOf(batch, execute.tools)
    return { stands: Object.fromEntries(first.filter(one => wanted.includes(one)).map(({ id }) => [id, 'begun'])) }
  })
  if (cut.length > 0) return giveUp(book, execute, cut)
  return batch.length > 0 ? carryOut(book, execute, { batch, now, heard: heardBefore(book, batch) }, signal) : now
}

/** The newest message that the model had seen when it wanted these; null when the user has said something since. */
function heardBefore({ branch, lastUserMessage }: Book, batch: readonly ActionEvent[]): string | null {
  const since = branch.slice(branch.findLastIndex(({ id }) => id === batch.at(-1)?.id))
  return since.some(({ kind, source }) => kind === 'MessageEvent' && source === 'user') ? null : lastUserMessage
}

async function reasonToEnd(parts: LoopParts, now: Standing, steps: number): Promise<readonly Draft[] | undefined> {
  if (steps >= parts.maxIterations)
    return failed({
      code: 'MaxIterationsReached',
      detail: `The agent took ${steps} steps without finishing. Run it again to let it go on.`,
      classification: { kind: 'agent_action', retryable: false, user_action: 'none' },
    })
  const poor = await parts.overBudget(now)
  if (poor) return failed(poor)
  return parts.detectsStuck && stuckness(parts.book.branch) === 'stuck' ? [statusUpdate('stuck')] : undefined
}

const failed = ({ code, detail, classification }: Failure): readonly Draft[] => [
  statusUpdate('error'),
  { kind: 'ConversationErrorEvent', source: 'environment', code, detail, classification },
]

function failureOf({ code, message, retryable }: ModelError): Failure {
  const kind = failureKind[code]
  const settings = kind === 'auth' || kind === 'quota' || kind === 'config'
  const user_action = settings ? 'settings' : retryable || kind === 'agent_action' ? 'retry' : 'none'
  return { code, detail: message, classification: { kind, retryable: user_action === 'retry', user_action } }
}

/** One answer of the model, and what came of it. */
async function step(parts: LoopParts, signal: AbortSignal): Promise<Standing> {
  const { book, execute } = parts
  if (parts.detectsStuck && stuckness(book.branch) === 'nudge') await book.keep(() => ({ drafts: [corrective(NUDGE)] }))
  const mind = await parts.mind()
  const heard = book.lastUserMessage
  const answer = named(book, await ask(parts, mind, signal))
  const reply = { ...answer, text: words(execute, answer.text), reasoning: words(execute, answer.reasoning) }
  const { text, calls } = understand(reply, execute.tools, id => isUsed(book, id))
  if (calls.length === 0) return say(book, mind, reply, { text, heard }, signal)

  const actions = calls.map((call, i) => actionOf(call, reply, i === 0 ? text : undefined))
  const before: Verdict[] = []
  for (const action of actions) before.push(action.action ? await parts.before(action, signal) : { drafts: [] })
  let batch: ActionEvent[] = []
  const now = await book.keep(standing => {
    // Nobody who interrupts has seen this answer: it must not run when they go on.
    signal.throwIfAborted()
    const judged = actions.map((action, i) => {
      const { claimed, tool } = calls[i]!
      return { ...action, security_risk: standing.risk(claimed, tool?.readOnly ?? false) }
    })
    batch = judged.filter(({ action }) => action)
    const asks = standing.running && !standing.allows(batch)
    const metered = mind.meter(reply, standing)
    return {
      ...metered,
      drafts: [
        ...judged.flatMap((action, i) => [
          ...before[i]!.drafts,
          ...blocking(judged, before, i, standing),
          action as Draft,
          ...misunderstood(action, calls[i]!),
        ]),
        ...(asks ? [statusUpdate('waiting_for_confirmation')] : []),
        ...(metered.drafts ?? []),
      ],
      ...(!asks && { stands: standing.running ? turns(batch, execute.tools) : allHeld(batch) }),
    }
  })
  return now.running && batch.length > 0 ? carryOut(book, execute, { batch, now, heard }, signal) : now
}

/** Some providers count their calls anew in every answer; a result is found by the id of its call. */
const isUsed = ({ shown }: Book, id: string): boolean =>
  shown.some(event => event.kind === 'ActionEvent' && event.tool_call_id === id)

/** Says that a hook blocked the action at this place, beside those that are blocked by then. */
function blocking(
  actions: readonly ActionEvent[],
  verdicts: readonly Verdict[],
  place: number,
  { blocked }: Standing,
): Draft[] {
  if (verdicts[place]?.blocked === undefined) return []
  const own = actions.slice(0, place + 1).flatMap(({ id }, i) => {
    const reason = verdicts[i]?.blocked
    return reason === undefined ? [] : [[id, reason]]
  })
  return [stateUpdate('blocked_actions', { ...blocked, ...Object.fromEntries(own) })]
}

/** Nor is the id of an answer always its own; it tells which actions belong together. */
const named = ({ shown }: Book, reply: Reply): Reply =>
  shown.some(event => 'llm_response_id' in event && event.llm_response_id === reply.id)
    ? { ...reply, id: newId() }
    : reply

/** Of one answer: an event holds both what was said and what was thought. */
const WORDS = 60_000

const words = ({ mask }: Execute, text: string): string => shortened(mask(text), WORDS)

const allHeld = (batch: readonly ActionEvent[]) => Object.fromEntries(batch.map(({ id }) => [id, 'held' as const]))

/** How often one call's context is made shorter before it is given up. */
const SHORTENINGS = 2

async function ask(parts: LoopParts, mind: Mind, signal: AbortSignal): Promise<Reply> {
  for (let tooLong = 0; ; tooLong++) {
    await parts.shorten(tooLong, signal)
    try {
      return await mind.ask({ messages: messagesOf(parts.book.shown, mind), tools: mind.specs }, signal)
    } catch (error) {
      const overflows = error instanceof ModelError && error.code === 'LLMContextWindowExceedError'
      if (!overflows || tooLong >= SHORTENINGS) throw error
    }
  }
}

/** Words without a call end the run, unless the user has said something meanwhile; no words at all are a mistake. */
async function say(
  book: Book,
  mind: Mind,
  reply: Reply,
  { text, heard }: { text: string; heard: string | null },
  signal: AbortSignal,
): Promise<Standing> {
  const isEmpty = text.trim() === ''
  return book.keep(standing => {
    signal.throwIfAborted()
    const metered = mind.meter(reply, standing)
    const ends = standing.running && standing.lastUserMessage === heard && !isEmpty
    return {
      ...metered,
      drafts: [
        {
          kind: 'MessageEvent',
          source: 'agent',
          llm_message: {
            role: 'assistant',
            content: [{ type: 'text', text, cache_prompt: false }],
            ...thoughtsOf(reply),
          },
          llm_response_id: reply.id,
          activated_skills: [],
          extended_content: [],
        },
        ...(isEmpty ? [corrective(reply.refused ? REFUSED : EMPTY)] : []),
        ...(ends ? [statusUpdate('finished')] : []),
        ...(metered.drafts ?? []),
      ],
    }
  })
}

const EMPTY =
  'Your last answer was empty. Call a tool to go on with the task, or say what you found, or call finish when it is done.'
const REFUSED =
  'Your last answer was withheld by the provider. Go on with the task in another way, or say why you cannot.'

/** A word to the model that is nobody's. */
export const corrective = (text: string): Draft => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text, cache_prompt: false }], thinking_blocks: [] },
  activated_skills: [],
  extended_content: [],
})

const thoughtsOf = (reply: Reply) => ({
  thinking_blocks: reply.thinking,
  ...(reply.reasoning && { reasoning_content: reply.reasoning }),
  ...(reply.reasoningItem && { responses_reasoning_item: reply.reasoningItem }),
})

/** What the model thought stands with the first of its actions alone: only there a text is given, be it empty. */
function actionOf(
  { call, toolName, action, summary }: Understood,
  reply: Reply,
  text: string | undefined,
): ActionEvent {
  return {
    kind: 'ActionEvent',
    // Known before it is on record, for hooks and answers speak of it.
    id: newId(),
    timestamp: '',
    source: 'agent',
    thought: text ? [{ type: 'text', text, cache_prompt: false }] : [],
    ...(text === undefined ? { thinking_blocks: [] } : thoughtsOf(reply)),
    ...(action && { action }),
    tool_name: toolName,
    tool_call_id: call.id,
    tool_call: call,
    llm_response_id: reply.id,
    security_risk: 'UNKNOWN',
    ...(summary !== null && { summary }),
  }
}

const misunderstood = (action: ActionEvent, { error }: Understood): Draft[] =>
  action.action ? [] : [failure(action, error ?? 'This call could not be understood.', AGENT)]
