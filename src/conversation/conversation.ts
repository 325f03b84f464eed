import type { OpenAction, Stand } from '../agent/book.ts'
import { AGENT, failure, refusal } from '../agent/execute.ts'
import { type Draft, stateUpdate, statusUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { MessageEvent, SendMessageRequest } from '../api/events.ts'
import type { ConfirmationPolicy, SecurityAnalyzer } from '../api/security.ts'
import { newId } from '../lib/id.ts'
import type { Change } from './journal.ts'
import type { Reception } from './reception.ts'
import type { State } from './state.ts'

// Commands: what is asked, on what is, gives what shall be. Nothing here touches the world.

/** What a message brings along, beside what was said. */
export type Addition = Partial<Pick<MessageEvent, 'activated_skills' | 'extended_content'>>

const isBusy = ({ execution_status: status }: State): boolean =>
  status === 'running' || status === 'waiting_for_confirmation'

/** A user's message. It wakes nothing by itself, and answers no pending question: it is remembered that it came. */
export function message(
  state: State,
  { role, content, run }: Pick<SendMessageRequest, 'role' | 'content' | 'run'>,
  { before, addition, blocked }: Reception,
  id = newId(),
): Change {
  if (role !== 'user') throw fault('invalid_request', `Only a user can send a message, not '${role}'`)
  const { activated_skills = [], extended_content = [] } = addition(state)
  const drafts: Draft[] = []
  if (state.execution_status === 'finished' || state.execution_status === 'stuck') drafts.push(statusUpdate('idle'))
  if (blocked !== undefined) drafts.push(stateUpdate('blocked_messages', { ...state.blocked_messages, [id]: blocked }))
  drafts.push(
    ...before(state),
    {
      kind: 'MessageEvent',
      id,
      source: 'user',
      llm_message: { role: 'user', content, thinking_blocks: [] },
      activated_skills,
      extended_content,
    },
    stateUpdate('last_user_message_id', id),
  )
  // Together with the message: a crash must not leave one that asked for a run, and nobody who knows of it.
  if (!isBusy(state)) {
    if (blocked !== undefined) drafts.push(statusUpdate('finished'))
    else if (run) drafts.push(statusUpdate('running'))
  }
  const waits = state.execution_status === 'waiting_for_confirmation'
  const learnt = activated_skills.filter(name => !state.activated_knowledge_skills.includes(name))
  return {
    drafts,
    also: () => ({
      ...(waits && { meanwhile: run ? 'run' : (state.meanwhile ?? 'message') }),
      ...(learnt.length > 0 && { activated_knowledge_skills: [...state.activated_knowledge_skills, ...learnt] }),
    }),
  }
}

/** Title and tags. Tags replace the old ones; a title is no event on the wire. */
export function describe(state: State, given: { title?: string | null; tags?: Record<string, string> | null }): Change {
  const drafts = given.tags && !sameJson(given.tags, state.tags) ? [stateUpdate('tags', given.tags)] : []
  return {
    drafts,
    ...(given.title != null && { title: given.title }),
    touches: given.title != null || drafts.length > 0,
  }
}

/** What was asked before stays asked, whatever the new policy says. */
export const setPolicy = (state: State, policy: ConfirmationPolicy): Change =>
  sameJson(policy, state.confirmation_policy) ? {} : { drafts: [stateUpdate('confirmation_policy', policy)] }

/** As it may be shown; what it holds that is secret is kept in the order. */
export const setAnalyzer = (state: State, analyzer: SecurityAnalyzer | null): Change =>
  sameJson(analyzer, state.security_analyzer) ? {} : { drafts: [stateUpdate('security_analyzer', analyzer)] }

/** A command that may set a run going. */
export interface Wish extends Change {
  runs: boolean
}

const asked = (state: State): OpenAction[] => state.open.filter(({ stand }) => stand === 'asked')

export const SUPERSEDED = 'Superseded by a message.'

/**
 * An explicit wish for a run. While actions wait for an answer it is a yes to exactly those, unless the user said something after they were
 * asked: then they are rejected, and the run goes on with what was said.
 */
export function run(state: State): Wish {
  switch (state.execution_status) {
    case 'finished':
    case 'deleting':
      return { runs: false }
    case 'running':
      return { runs: true }
    case 'waiting_for_confirmation':
      // What was asked may not have survived on disk.
      if (asked(state).length === 0) return { drafts: [statusUpdate('running')], runs: true }
      return answer(state, state.meanwhile ? { accept: false, reason: SUPERSEDED, run: true } : { accept: true })
    default:
      return { drafts: [statusUpdate('running')], runs: true }
  }
}

/** Has somebody work on what is to run. It decides nothing: who paused it meanwhile has had the last word. */
export const wake = ({ execution_status }: State): Wish => ({ runs: execution_status === 'running' })

export interface Answer {
  accept: boolean
  reason?: string
  /** Only these; all that wait unless given. */
  action_ids?: readonly string[] | null | undefined
  /** Goes on even when everything was rejected. */
  run?: boolean
}

/** Answers what waits. Repeated, or with nothing waiting, it changes nothing. */
export function answer(state: State, { accept, reason = '', action_ids, run = false }: Answer): Wish {
  const targets = asked(state).filter(({ id }) => !action_ids || action_ids.includes(id))
  if (targets.length === 0) return { runs: false }
  const stand: Stand = accept ? 'approved' : 'rejected'
  const open = state.open.map(one => (targets.includes(one) ? { ...one, stand, ...(!accept && { reason }) } : one))
  if (open.some(one => one.stand === 'asked')) return { also: () => ({ open }), runs: false }
  const goesOn = run || state.meanwhile === 'run'
  if (open.some(one => one.stand === 'approved'))
    return { drafts: [statusUpdate('running')], also: () => ({ open, meanwhile: null }), runs: true }
  return {
    drafts: [statusUpdate(goesOn ? 'running' : 'idle'), ...open.map(rejection)],
    also: () => ({ meanwhile: null }),
    runs: goesOn,
  }
}

export const rejection = ({ id, call, tool, reason }: OpenAction): Draft =>
  refusal({ id, tool_name: tool, tool_call_id: call }, reason ?? '', 'user')

/** Lets what is executing finish: from now on nothing begins. */
export const pause = (state: State): Change =>
  state.execution_status === 'idle' || state.execution_status === 'running'
    ? { drafts: [statusUpdate('paused'), { kind: 'PauseEvent', source: 'user' }] }
    : {}

/** Gives everything under way a result. What still comes of it later is not kept. */
export function interrupt(state: State): Change {
  const draining = state.execution_status === 'paused' && state.open.some(({ stand }) => stand === 'begun')
  if (state.execution_status !== 'running' && !draining) return pause(state)
  return {
    drafts: [
      ...state.open.map(({ tool, call, stand }) =>
        failure({ tool_name: tool, tool_call_id: call }, stand === 'begun' ? INTERRUPTED : NOT_RUN, AGENT),
      ),
      ...(draining ? [] : [statusUpdate('paused')]),
      { kind: 'InterruptEvent', source: 'user' },
    ],
  }
}

const INTERRUPTED = 'The user interrupted this call while it ran. It may have had effects: look before you repeat it.'
const NOT_RUN = 'This call was not run, for the user interrupted the run before it began.'

const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

const sorted = (value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
