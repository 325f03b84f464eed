import type { OpenAction } from '../agent/book.ts'
import { AGENT, failure } from '../agent/execute.ts'
import type { ForkConversationRequest } from '../api/control.ts'
import { type Draft, statusUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import { now } from '../lib/time.ts'
import type { ConversationRecord, NewEvent, Store } from '../store/store.ts'
import { rejection } from './conversation.ts'
import { place } from './draft.ts'
import { encode, type Journal } from './journal.ts'
import type { Order } from './order.ts'
import { fold, initialState, isTreeNode, ROOT, type State } from './state.ts'

const PAGE = 500

const WHOLE: ForkConversationRequest = {
  id: null,
  title: null,
  tags: null,
  reset_metrics: true,
  from_event_id: null,
}

/** Other ways on from a log: a copy of it, or an earlier place in it. */
export class Forks {
  readonly #store: Store
  readonly #journal: Journal

  constructor(store: Store, journal: Journal) {
    this.#store = store
    this.#journal = journal
  }

  /** The id of the copy, which rests. Event ids stay. */
  async fork(id: string, request: ForkConversationRequest = WHOLE): Promise<string> {
    const view = await this.#journal.view(id)
    if (!view) throw fault('conversation_not_found', id)
    const { record, state: source } = view
    const { from_event_id: from } = request
    const [parts] = await this.#store.conversationParts([record.no], ['order', 'skills'])
    if (!parts?.order) throw fault('record_damaged', `The conversation ${id}`)
    const order: Order = { ...JSON.parse(parts.order), forked_from: { conversation: id, event: from } }
    const events = from === null ? await this.#all(record) : await this.#path(record, from)
    const copied = events.reduce(fold, initialState({ ...order.begun, last_event_at: record.createdAt }))
    const resting = stateOfCopy(copied, source, request)
    const { events: results, state } = place(resting, resting.open.map(unanswered))
    const newConversation = {
      id: request.id ?? newId(),
      createdAt: now(),
      updatedAt: now(),
      status: state.execution_status,
      title: request.title,
      parentId: null,
      sandbox: record.sandbox,
      head: events.length + results.length,
      state: JSON.stringify(state),
      parts: { order: JSON.stringify(order), ...(parts.skills && { skills: parts.skills }) },
    }
    const created = await this.#store.createConversation(
      newConversation,
      [...events, ...results].map(encode) as NewEvent[],
    )
    if (!created) throw fault('conversation_exists', newConversation.id)
    return newConversation.id
  }

  /** Null goes back before the first event. What waited for an answer gets one, for nobody will come back to it. */
  async navigate(id: string, eventId: string | null): Promise<void> {
    const view = await this.#journal.view(id)
    if (!view) throw fault('conversation_not_found', id)
    const [found] = eventId === null ? [] : await this.#store.eventsById(view.record.no, [eventId])
    if (eventId !== null && (!found || !isTreeNode(JSON.parse(found.json)))) throw fault('event_unknown', eventId)
    await this.#journal.transact(id, ({ state }) => {
      // What a pause let finish is still under way: its result belongs where it was begun.
      const isBusy = state.execution_status === 'running' || state.open.some(({ stand }) => stand === 'begun')
      if (isBusy) throw fault('conversation_running')
      const waits = state.execution_status === 'waiting_for_confirmation'
      return {
        drafts: [
          ...(waits ? [statusUpdate('idle')] : []),
          ...state.open.map(one => rejection({ ...one, reason: 'The conversation went back to before this action.' })),
        ],
        also: () => ({ leaf_event_id: eventId ?? ROOT, meanwhile: null }),
      }
    })
  }

  async #all({ no, head }: ConversationRecord): Promise<Event[]> {
    const events: Event[] = []
    for (let from = 1; from <= head; ) {
      const page = await this.#store.readEvents({ no, from, to: head, limit: PAGE })
      if (page.length === 0) break
      for (const { damaged, json } of page) if (!damaged) events.push(JSON.parse(json))
      from = page.at(-1)!.seq + 1
    }
    return events
  }

  /** From the root to an event. */
  async #path(record: ConversationRecord, id: string): Promise<Event[]> {
    const events = new Map((await this.#all(record)).map(event => [event.id, event]))
    const path: Event[] = []
    for (let event = events.get(id); event; event = events.get(event.parent_id ?? '')) path.push(event)
    if (path.length === 0 || !isTreeNode(path[0]!)) throw fault('event_not_found', id)
    return path.reverse()
  }
}

/** The result that an action gets in a copy which was made before it had one. */
const unanswered = ({ tool, call }: OpenAction): Draft =>
  failure(
    { tool_name: tool, tool_call_id: call },
    'This conversation was forked before the call had a result. Whether it had effects is not known here: look before you repeat it.',
    AGENT,
  )

/** What a copy takes along: what it can do and what was agreed, but nothing that was under way. */
function stateOfCopy(
  copied: State,
  source: State,
  { title, tags, reset_metrics, from_event_id }: ForkConversationRequest,
): State {
  return {
    ...copied,
    leaf_event_id: from_event_id ?? source.leaf_event_id,
    confirmation_policy: source.confirmation_policy,
    security_analyzer: source.security_analyzer,
    activated_knowledge_skills: source.activated_knowledge_skills,
    activated_path_rules: source.activated_path_rules,
    agent_state: source.agent_state,
    execution_status: 'idle',
    last_user_message_id: null,
    invoked_skills: [],
    blocked_actions: {},
    blocked_messages: {},
    tags: { ...tags, ...(title && { title }) },
    stats: reset_metrics ? { usage_to_metrics: {} } : source.stats,
    meanwhile: null,
  }
}
