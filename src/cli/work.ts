import { type Followed, follow } from '../../client/follow.ts'
import { ClientError } from '../api/client.ts'
import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { ActionEvent, Event } from '../api/events.ts'
import type { Server } from './connect.ts'
import { short } from './ending.ts'
import { exit, Failure, type Io } from './io.ts'
import { Patience } from './patience.ts'
import { pendingActions } from './pending.ts'

export interface Answer {
  accept: boolean
  reason?: string
}

export interface WorkParts {
  io: Io
  server: Server
  conversation: string
  /** It has just been started: all of its log is shown. */
  isNew: boolean
  show(told: Followed): void
  /** Left out where nobody can be asked. Gives nothing when there is no answer. */
  ask?(action: ActionEvent, signal: AbortSignal): Promise<Answer | undefined>
  /** Something about the work itself, for whoever looks on. */
  remark(text: string): void
}

/** How it came to rest. */
export interface Ending {
  status: ConversationExecutionStatus
  /** The code of the last error, where that is why. */
  error?: string
  /** Somebody here interrupted it. */
  isInterrupted: boolean
}

export const codeOf = ({ status, error, isInterrupted }: Ending): number => {
  if (isInterrupted || status === 'paused') return exit.interrupted
  if (status === 'error') return error && LIMITS.has(error) ? exit.limit : exit.error
  return CODES[status] ?? exit.error
}

const LIMITS = new Set(['MaxBudgetReached', 'MaxIterationsReached'])
const CODES: Partial<Record<ConversationExecutionStatus, number>> = {
  finished: exit.finished,
  stuck: exit.stuck,
  waiting_for_confirmation: exit.asked,
  // Whoever said no elsewhere has it wait for a word.
  idle: exit.asked,
}

/**
 * Has an agent work until it rests: shows what happens, and asks where it has to. `begin` tells it to; without it what waits for an
 * answer is asked for first.
 */
export async function work(parts: WorkParts, begin?: () => Promise<unknown>): Promise<Ending> {
  const { io, server, conversation, show } = parts
  const { client, baseUrl, key } = server
  const where = { params: { conversation_id: conversation } }
  // In this order: a run that comes to rest in between is told by the stream.
  const after = parts.isNew ? undefined : await lastEvent(parts)
  const before = (await client.getConversation(where)).execution_status
  const interrupted = new AbortController()
  const gone = new AbortController()
  using _interrupt = io.on('SIGINT', () => {
    if (interrupted.signal.aborted) io.quit(exit.interrupted)
    interrupted.abort()
    parts.remark('Interrupting… (once more quits at once)')
    client.interruptConversation(where).catch(() => gone.abort())
  })
  using _end = io.on('SIGTERM', () => gone.abort())
  const rests = (status: ConversationExecutionStatus, error?: string): Ending => ({
    status,
    isInterrupted: interrupted.signal.aborted,
    ...(error !== undefined && { error }),
  })

  if (!begin && before !== 'running' && before !== 'waiting_for_confirmation') return rests(before)
  using patience = new Patience(
    () => parts.remark('The server does not answer; trying again…'),
    () => gone.abort(),
  )
  const { signal } = gone
  const following = { baseUrl, conversation, signal, fetch: patience.fetch, ...(key !== undefined && { key }) }
  const stream = follow({ ...following, ...(after !== undefined && { after }) })
  // First comes a snapshot. What is said from then on is heard from its first word.
  await stream.next()
  await begin?.()
  if (before === 'waiting_for_confirmation' && (await answer(parts, interrupted.signal)) === 'unanswered') {
    gone.abort()
    return rests(before)
  }
  /** Whether what comes now is about the work that was asked for. */
  let isBegun = before === 'running'
  let status: ConversationExecutionStatus | undefined
  let error: string | undefined
  let last: string | undefined
  for await (const told of stream) {
    show(told)
    const { event, passing } = told
    if (passing) continue
    if (event.kind === 'ConversationErrorEvent') error = event.code
    const now = statusIn(event)
    if (now === 'running') [isBegun, status, last, error] = [true, undefined, undefined, undefined]
    else if (now !== undefined && (isBegun || interrupted.signal.aborted)) {
      const answered = now === 'waiting_for_confirmation' ? await answer(parts, interrupted.signal) : 'unanswered'
      // All rejected, it is idle for the moment until it is told to go on.
      if (answered === 'answered') isBegun = false
      if (answered !== 'unanswered') continue
      status = now
      // Why it rests may be told after that it does.
      last = await lastEvent(parts)
    }
    if (status !== undefined && event.id === last) return rests(status, error)
  }
  if (patience.isOver)
    throw new Failure(
      `the server does not answer any more; when it runs again: gantry run --resume ${short(conversation)}`,
    )
  return { ...rests('paused'), isInterrupted: true }
}

function statusIn(event: Event): ConversationExecutionStatus | undefined {
  const isStatus = event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status'
  return isStatus ? (event.value as ConversationExecutionStatus) : undefined
}

async function lastEvent({ server, conversation }: WorkParts): Promise<string | undefined> {
  const { items } = await server.client.searchEvents({
    params: { conversation_id: conversation },
    query: { limit: 1, sort_order: 'TIMESTAMP_DESC' },
  })
  return items[0]?.id
}

/** Asks for each action that waits, and passes the answers on; `over` when nothing waits any more. */
async function answer(parts: WorkParts, signal: AbortSignal): Promise<'answered' | 'unanswered' | 'over'> {
  const { server, conversation, ask } = parts
  const where = { params: { conversation_id: conversation } }
  const { execution_status } = await server.client.getConversation(where)
  if (execution_status !== 'waiting_for_confirmation') return 'over'
  if (!ask) return 'unanswered'
  let accepted = 0
  for (const action of await pendingActions(server.client, conversation)) {
    const said = await ask(action, signal)
    if (!said) return 'unanswered'
    if (said.accept) accepted += 1
    await server.client.respondToConfirmation({ ...where, body: { ...said, action_ids: [action.id] } })
  }
  // The agent is to hear why not, and may find another way.
  if (accepted === 0) await goOn(server, conversation)
  return 'answered'
}

/** Has the agent go on; one that does already is left alone. */
export async function goOn({ client }: Server, conversation_id: string): Promise<void> {
  await client.runConversation({ params: { conversation_id } }).catch(error => {
    if (!(error instanceof ClientError && error.status === 409)) throw error
  })
}
