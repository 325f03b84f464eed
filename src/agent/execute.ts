import type { TextContent } from '../api/common.ts'
import { type Draft, stateUpdate, statusUpdate } from '../api/draft.ts'
import { Fault } from '../api/errors.ts'
import type { ActionEvent, ErrorClassification } from '../api/events.ts'
import type { Observation } from '../api/observations.ts'
import { abortable } from '../lib/abort.ts'
import type { Book, Entry, Learnt, OpenAction, Stand, Standing } from './book.ts'
import { type Hands, Misunderstood, type Tool } from './tool.ts'

/** What actions are carried out with. */
export interface Execute {
  tools: ReadonlyMap<string, Tool>
  hands(signal: AbortSignal): Hands
  /** Hides what must not be read. */
  mask<T>(value: T): T
  /** What hooks and skills have to say to a result. `rules`: those that were told by now. */
  after(action: ActionEvent, observation: Observation, rules: readonly string[], signal: AbortSignal): Promise<After>
}

export interface After {
  /** Before the result. */
  drafts: readonly Draft[]
  /** For the model. */
  context: readonly TextContent[]
  learnt: Learnt
}

/** How many may run side by side. */
const SIDE_BY_SIDE = 8

/**
 * The actions of one answer, put into groups: those that harm nobody and stand beside each other run together, every other runs alone.
 * So does the one that ends the run, for what comes after it must not begin.
 */
export function groupsOf(batch: readonly ActionEvent[], tools: ReadonlyMap<string, Tool>): ActionEvent[][] {
  const groups: ActionEvent[][] = []
  const joins = (action: ActionEvent | undefined) => {
    const tool = action && tools.get(action.tool_name)
    return tool?.name !== 'finish' && (tool?.sideBySide ?? tool?.readOnly ?? false)
  }
  for (const action of batch) {
    const last = groups.at(-1)
    if (last && joins(action) && joins(last[0]) && last.length < SIDE_BY_SIDE) last.push(action)
    else groups.push([action])
  }
  return groups
}

/** Who begins at once, and who waits for its turn. */
export function turns(batch: readonly ActionEvent[], tools: ReadonlyMap<string, Tool>): Record<string, Stand> {
  const first = groupsOf(batch, tools)[0] ?? []
  return Object.fromEntries(batch.map(action => [action.id, first.includes(action) ? 'begun' : 'held'] as const))
}

interface Batch {
  batch: readonly ActionEvent[]
  now: Standing
  /** The newest message of the user's that the model had seen: while there is a newer one, nothing is finished. */
  heard: string | null
}

/**
 * Runs the actions of one answer, in call order. The first group is on record as begun already; each of the others is put on record as begun
 * together with the last result before it, and only while the conversation runs.
 */
export async function carryOut(
  book: Book,
  parts: Execute,
  { batch, now, heard }: Batch,
  signal: AbortSignal,
): Promise<Standing> {
  const groups = groupsOf(batch, parts.tools)
  const rejected = new Map(now.open.flatMap(one => (one.stand === 'rejected' ? [[one.id, one] as const] : [])))
  let standing = now
  for (const [i, group] of groups.entries()) {
    const next = groups[i + 1] ?? []
    const rules = standing.rules
    const running = group.map(action =>
      resultOf(action, { rejected: rejected.get(action.id), blocked: now.blocked[action.id], rules }, parts, signal),
    )
    // Whoever is not awaited yet must not be the end of the process.
    for (const one of running) one.catch(() => undefined)
    for (const [k, action] of group.entries()) {
      const result = await running[k]!
      const isLast = k === group.length - 1
      const ends = action.action?.kind === 'FinishAction' && result.ok
      standing = await book.keep(current =>
        ends ? finished(current, action, result.drafts, heard) : kept(current, action, result, isLast ? next : []),
      )
      if (ends) return standing
    }
    if (!standing.running) return standing
  }
  return standing
}

/**
 * A result is kept only while its action is open: it may have been given another one meanwhile. Those that come next are begun with it,
 * unless the policy has become one that asks for them.
 */
function kept(now: Standing, { id }: ActionEvent, result: Result, next: readonly ActionEvent[]): Entry {
  if (!isOpen(now, id)) return {}
  const { learnt } = result
  const drafts = [...unblocked(now, id), ...result.drafts]
  const begin = next.filter(action => now.open.some(one => one.id === action.id && one.stand !== 'rejected'))
  const goesOn = now.running && begin.length > 0
  const asks = goesOn && !now.allows(begin)
  return {
    drafts: asks ? [...drafts, statusUpdate('waiting_for_confirmation')] : drafts,
    ...(learnt && { learnt }),
    ...(goesOn && !asks && { stands: Object.fromEntries(begin.map(one => [one.id, 'begun' as const])) }),
  }
}

/** What was blocked is so no longer, once it has its result. */
function unblocked({ blocked }: Standing, id: string): Draft[] {
  const { [id]: own, ...others } = blocked
  return own === undefined ? [] : [stateUpdate('blocked_actions', others)]
}

/** Whatever was called beside it is not run. */
function finished(now: Standing, action: ActionEvent, drafts: readonly Draft[], heard: string | null): Entry {
  if (!isOpen(now, action.id)) return {}
  const rest = now.open.filter(({ id }) => id !== action.id)
  const unrun = rest.map(({ tool, call }) => failure({ tool_name: tool, tool_call_id: call }, AFTER_FINISH, AGENT))
  const ends = now.running && now.lastUserMessage === heard
  return { drafts: [...drafts, ...unrun, ...(ends ? [statusUpdate('finished')] : [])] }
}

const AFTER_FINISH = 'This call was not run: the work was finished before it.'

const isOpen = ({ open }: Standing, id: string): boolean => open.some(one => one.id === id)

interface Result extends Pick<Entry, 'learnt'> {
  ok: boolean
  drafts: readonly Draft[]
}

async function resultOf(
  action: ActionEvent,
  {
    rejected,
    blocked,
    rules,
  }: { rejected?: OpenAction | undefined; blocked?: string | undefined; rules: readonly string[] },
  parts: Execute,
  signal: AbortSignal,
): Promise<Result> {
  if (rejected) return { ok: false, drafts: [refusal(action, rejected.reason ?? '', 'user')] }
  if (blocked !== undefined) return { ok: false, drafts: [refusal(action, blocked, 'hook')] }
  signal.throwIfAborted()
  const tool = parts.tools.get(action.tool_name)
  if (!tool) return { ok: false, drafts: [failure(action, `There is no tool '${action.tool_name}' any more.`, AGENT)] }
  try {
    const observation = parts.mask(await abortable(tool.run(action.action!, parts.hands(signal)), signal))
    const { drafts, context, learnt } = await parts.after(action, observation, rules, signal)
    return { ok: !observation.is_error, drafts: [...drafts, observed(action, observation, context)], learnt }
  } catch (error) {
    if (signal.aborted) throw error
    const expected = error instanceof Misunderstood || error instanceof Fault
    const message = error instanceof Error ? error.message : String(error)
    const text = parts.mask(`The tool '${action.tool_name}' failed: ${message}`)
    return { ok: false, drafts: [failure(action, text, expected ? AGENT : INTERNAL)] }
  }
}

const observed = (
  { id, tool_name, tool_call_id }: ActionEvent,
  observation: Observation,
  context: readonly TextContent[],
): Draft => ({
  kind: 'ObservationEvent',
  source: 'environment',
  tool_name,
  tool_call_id,
  action_id: id,
  observation,
  extended_content: [...context],
})

export const refusal = (
  { id, tool_name, tool_call_id }: Pick<ActionEvent, 'id' | 'tool_name' | 'tool_call_id'>,
  reason: string,
  source: 'user' | 'hook',
): Draft => ({
  kind: 'UserRejectObservation',
  source: 'environment',
  tool_name,
  tool_call_id,
  action_id: id,
  rejection_reason: reason,
  rejection_source: source,
})

export const AGENT: ErrorClassification = { kind: 'agent_action', retryable: true, user_action: 'retry' }
const INTERNAL: ErrorClassification = { kind: 'internal', retryable: false, user_action: 'none' }

export const failure = (
  { tool_name, tool_call_id }: Pick<ActionEvent, 'tool_name' | 'tool_call_id'>,
  error: string,
  classification: ErrorClassification,
): Draft => ({ kind: 'AgentErrorEvent', source: 'agent', tool_name, tool_call_id, error, classification })

/** Actions that were under way when the server died get a result that says so, unless they were given one meanwhile. */
export async function giveUp(book: Book, { tools }: Execute, cut: readonly OpenAction[]): Promise<Standing> {
  const traces = new Map<string, string>()
  for (const { id, tool } of cut) {
    const event = book.shown.find(event => event.id === id)
    const action = event?.kind === 'ActionEvent' ? event.action : undefined
    const trace =
      action &&
      (await tools
        .get(tool)
        ?.trace?.(action)
        .catch(() => undefined))
    if (trace) traces.set(id, trace)
  }
  return book.keep(({ running, open }) => ({
    drafts: running ? open.map(one => cutShort(one, traces.get(one.id))) : [],
  }))
}

const cutShort = ({ tool, call, stand }: OpenAction, trace?: string): Draft =>
  failure(
    { tool_name: tool, tool_call_id: call },
    stand === 'begun'
      ? `The server stopped while this call ran. ${trace ?? 'It may have had effects, or still run: look before you repeat it.'}`
      : 'The server stopped before this call began: it was not run.',
    AGENT,
  )
