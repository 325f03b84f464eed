import type { Draft } from '../api/draft.ts'
import { Fault, fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import { Mailboxes } from '../lib/mailbox.ts'
import { Recent } from '../lib/recent.ts'
import { type Micros, now, parseTime } from '../lib/time.ts'
import type { ConversationRecord, EventRecord, NewEvent, Store } from '../store/store.ts'
import { place } from './draft.ts'
import type { Feed } from './feed.ts'
import type { Order } from './order.ts'
import { fold, initialState, isTreeNode, type State } from './state.ts'

export interface View {
  record: ConversationRecord
  state: State
}

/** What a command wants changed. */
export interface Change {
  drafts?: readonly Draft[]
  /** Null takes it away. */
  title?: string | null
  parts?: Record<string, string>
  /** Counts as activity even without a message or an action. */
  touches?: boolean
  /** What changes beside the log, once the drafts are folded. */
  also?: (state: State) => Partial<State>
}

/** Decides on what it is shown, and on nothing else: it may be asked again with a newer view. Refuses by throwing. */
export type Command = (view: View) => Change

/** What became of a command: its events, and the state it left. */
export interface Outcome {
  events: Event[]
  state: State
}

interface Asked {
  command: Command
  done: (outcome: Outcome) => void
  refused: (reason: unknown) => void
}

/** When even the order is lost: whoever asks once too often does no harm. */
const NOTHING_KNOWN: Order['begun'] = {
  confirmation_policy: { kind: 'AlwaysConfirm' },
  security_analyzer: null,
  tags: {},
}

/** Fields that states of earlier versions lack. */
const LATER: Pick<State, 'open' | 'meanwhile'> = { open: [], meanwhile: null }

/** Conversations that are being worked on at once, and some more. */
const REMEMBERED = 300

/** How often a group is worked out anew when somebody else was faster. */
const TRIES = 5

/**
 * The only way into a log. Commands of one conversation are decided in order, each on the outcome of the one before,
 * and a whole group of them becomes durable in one append; then it is told, then acknowledged.
 */
export class Journal {
  readonly #store: Store
  readonly #feed: Feed
  /** What the last groups left. Used only to decide on: an append that does not find the log there is decided again on what it finds. */
  readonly #left = new Recent<View | undefined>(REMEMBERED)
  readonly #asked = new Mailboxes<Asked>((id, group) => this.#carryOut(id, group))

  constructor(store: Store, feed: Feed) {
    this.#store = store
    this.#feed = feed
  }

  /** Resolves once what the command decided is durable. */
  transact(id: string, command: Command): Promise<Outcome> {
    return new Promise((done, refused) => this.#asked.post(id, { command, done, refused }))
  }

  /** The conversation is not what it was, or no more. */
  forget(id: string): void {
    this.#left.set(id, undefined)
  }

  async view(id: string): Promise<View | undefined> {
    const [record] = await this.#store.conversations([id])
    return record && { record, state: await this.stateOf(record) }
  }

  /** The folded state; folded again from the log should the stored one be damaged. */
  async stateOf(record: ConversationRecord): Promise<State> {
    if (!record.damaged) return { ...LATER, ...JSON.parse(record.state) }
    const [parts] = await this.#store.conversationParts([record.no], ['order'])
    const { begun = NOTHING_KNOWN } = JSON.parse(parts?.order ?? '{}') as Partial<Order>
    let state = initialState({ ...begun, last_event_at: record.createdAt })
    for (let from = 1; from <= record.head; ) {
      const page = await this.#store.readEvents({ no: record.no, from, limit: 500 })
      if (page.length === 0) break
      for (const event of page) if (!event.damaged) state = fold(state, JSON.parse(event.json))
      from = page.at(-1)!.seq + 1
    }
    return state
  }

  async #carryOut(id: string, group: Asked[]): Promise<void> {
    let asked = group
    try {
      for (let attempt = 1; asked.length > 0; attempt++) {
        const view = this.#left.get(id) ?? (await this.view(id))
        if (!view) throw fault('conversation_not_found', id)
        const plan = decide(view, asked)
        asked = plan.asked
        try {
          if (plan.changes) await this.#store.append(plan.append)
        } catch (error) {
          this.forget(id)
          if (error instanceof Fault && error.code === 'conflict' && attempt < TRIES) continue
          throw error
        }
        this.#left.set(id, plan.left)
        this.#feed.events(id, plan.records)
        asked.forEach(({ done }, i) => {
          done(plan.outcomes[i]!)
        })
        return
      }
    } catch (error) {
      for (const { refused } of asked) refused(error)
    }
  }
}

/** Works out what a group of commands comes to. A command that refuses leaves no trace. */
function decide(view: View, asked: Asked[]) {
  const { record } = view
  let state = view.state
  let updatedAt = record.updatedAt
  let title: string | null | undefined
  let changes = false
  const parts: Record<string, string> = {}
  const kept: Asked[] = []
  const outcomes: Outcome[] = []
  for (const one of asked) {
    try {
      const change = one.command({ record: title === undefined ? record : { ...record, title }, state })
      const placed = place(state, change.drafts ?? [])
      state = change.also ? { ...placed.state, ...change.also(placed.state) } : placed.state
      if (change.title !== undefined) title = change.title
      Object.assign(parts, change.parts)
      updatedAt = Math.max(updatedAt, change.touches ? now() : 0, ...placed.events.filter(isTreeNode).map(madeAt))
      changes ||=
        placed.events.length > 0 || change.title !== undefined || !!change.parts || !!change.touches || !!change.also
      kept.push(one)
      outcomes.push({ events: placed.events, state })
    } catch (error) {
      one.refused(error)
    }
  }
  const encoded = outcomes.flatMap(({ events }) => events.map(encode))
  const records: EventRecord[] = encoded.map(({ text, ...event }, i) => ({ ...event, seq: record.head + 1 + i }))
  const append = {
    no: record.no,
    after: record.head,
    head: record.head + records.length,
    status: state.execution_status,
    updatedAt,
    state: JSON.stringify(state),
    events: encoded,
    ...(title !== undefined && { title }),
    parts,
  }
  const { head, status } = append
  const left: View = { record: { ...record, head, status, updatedAt, ...(title !== undefined && { title }) }, state }
  return { asked: kept, outcomes, records, append, changes, left }
}

const madeAt = (event: Event): Micros => parseTime(event.timestamp) ?? 0

export function encode(event: Event): NewEvent {
  const text = textOf(event)
  return {
    id: event.id,
    kind: event.kind,
    source: event.source,
    at: madeAt(event),
    json: JSON.stringify(event),
    ...(text && { text }),
  }
}

/** What a search for words looks at: what was said and thought in messages. */
function textOf(event: Event): string | undefined {
  if (event.kind !== 'MessageEvent') return undefined
  const { content, reasoning_content } = event.llm_message
  const said = [...content, ...event.extended_content].flatMap(part => (part.type === 'text' ? [part.text] : []))
  return [...said, reasoning_content ?? ''].join('\n').toLowerCase()
}
