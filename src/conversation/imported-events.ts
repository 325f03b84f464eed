import { setImmediate as turn } from 'node:timers/promises'
import * as z from 'zod'
import { orNull, strings } from '../api/common.ts'
import { ConversationInfo } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import { type ConversationStateUpdateEvent, Event } from '../api/events.ts'
import { MetricsSnapshot, TokenUsage } from '../api/llm.ts'
import { formatNaive, type Micros, now, parseTime } from '../lib/time.ts'
import { type EventFile, readAs } from './imported-files.ts'
import { isTreeNode, ROOT } from './state.ts'

/** By how much an event may seem to be made before the one it follows: writers stamp some before they put them in order. */
const JITTER_MICROS: Micros = 1_000_000
/** Other servers write their local time, which is ahead by less than this. Later ones would push all that follows into the future. */
const AHEAD_MICROS: Micros = 24 * 3600 * 1_000_000

/** Events, after which others get their turn: small ones are unpacked without waiting for anything. */
const BETWEEN_TURNS = 100

/** Kinds, and keys of state updates, that are told but never part of a log. */
const PASSING: readonly string[] = ['StreamingDeltaEvent', 'ServerErrorEvent', 'full_state']

const Sums = MetricsSnapshot.extend({
  max_budget_per_task: orNull(z.number()),
  accumulated_token_usage: orNull(TokenUsage),
})

/** What a state update becomes part of the state by. */
const VALUES: Record<string, z.ZodType> = {
  execution_status: ConversationInfo.shape.execution_status,
  confirmation_policy: ConversationInfo.shape.confirmation_policy,
  security_analyzer: ConversationInfo.shape.security_analyzer,
  last_user_message_id: ConversationInfo.shape.last_user_message_id,
  activated_knowledge_skills: strings,
  activated_path_rules: strings,
  invoked_skills: strings,
  blocked_actions: ConversationInfo.shape.blocked_actions,
  blocked_messages: ConversationInfo.shape.blocked_messages,
  stats: z.object({ usage_to_metrics: z.record(z.string(), Sums) }),
  tags: ConversationInfo.shape.tags,
  agent_state: ConversationInfo.shape.agent_state,
}

/** The events of a log from elsewhere, each as one of ours would be; rejects with the name of the file that has none. */
export async function* eventsOf(files: readonly EventFile[]): AsyncGenerator<Event> {
  const ids = new Set<string>()
  const nodes = new Set<string>()
  const latest = now() + AHEAD_MICROS
  let head: string | undefined
  let last: Micros = 0
  for (const { name, json } of files) {
    const refuse = (why: string) => fault('invalid_request', `${name}: ${why}`)
    const event = eventFrom(await json(), name)
    if (ids.has(event.id)) throw refuse(`there is another event ${event.id}`)
    const made = parseTime(event.timestamp)
    if (made === undefined || made < 0) throw refuse(`${event.timestamp} is no time`)
    if (made > latest) throw refuse(`${event.timestamp} is yet to come`)
    if (made < last - JITTER_MICROS) throw refuse('it was made before the event that it comes after')
    // Links lead back, so that nobody who follows them goes round in circles. Logs older than links are one line.
    const parent = event.parent_id ?? head
    if (parent !== undefined && parent !== ROOT && !nodes.has(parent)) throw refuse(`no event ${parent} precedes it`)
    last = Math.max(made, last + 1)
    ids.add(event.id)
    if (isTreeNode(event)) {
      nodes.add(event.id)
      head = event.id
    }
    if (ids.size % BETWEEN_TURNS === 0) await turn()
    yield { ...event, timestamp: formatNaive(last), ...(parent !== undefined && { parent_id: parent }) }
  }
}

function eventFrom(value: unknown, name: string): Event {
  const event = readAs(Event, value, name)
  const isUpdate = event.kind === 'ConversationStateUpdateEvent'
  if (PASSING.includes(isUpdate ? event.key : event.kind))
    throw fault('invalid_request', `${name}: that is told, but never part of a log`)
  return isUpdate ? withValue(event, name) : event
}

function withValue(event: ConversationStateUpdateEvent, name: string): Event {
  const schema = Object.hasOwn(VALUES, event.key) ? VALUES[event.key] : undefined
  return schema ? { ...event, value: readAs(schema, event.value ?? null, `${name}: value`) } : event
}
