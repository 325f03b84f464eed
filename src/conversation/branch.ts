import { view } from '../agent/condense.ts'
import type { Event } from '../api/events.ts'
import type { ConversationRecord, EventRecord, Store } from '../store/store.ts'
import { isBare, isTreeNode, type State } from './state.ts'

const PAGE = 200

/** Whose parent cannot be read follows, most likely, what stands before it. */
const ANY = Symbol('any')

/** What a model was shown right after a condensation. Kept beside the log, so that nobody reads what was forgotten. */
export interface Shown {
  condensation: string
  /** In order; the summary among them. */
  ids: string[]
}

export interface Branch {
  /** From the root, or from the last condensation, to HEAD. */
  events: Event[]
  /** What a model is shown before the first of these. */
  before: Event[]
}

/** The events from the root to HEAD that a model may still be shown: a run on a long log starts as fast as one on a short. */
export async function readBranch(store: Store, record: ConversationRecord, state: State): Promise<Branch> {
  if (isBare(state)) return { events: [], before: [] }
  const { no, head } = record
  const [parts] = await store.conversationParts([no], ['shown'])
  const shown: Shown | undefined = parts?.shown ? JSON.parse(parts.shown) : undefined
  const newest: Event[] = []
  let wanted: string | typeof ANY | null | undefined = state.leaf_event_id
  for (let to = head; to > 0 && wanted; ) {
    const page: EventRecord[] = await store.readEvents({ no, to, limit: PAGE, backward: true })
    for (const record of page) {
      if (wanted === ANY ? !isTreeNode(record as Pick<Event, 'kind'>) : record.id !== wanted) continue
      const event = eventOf(record)
      if (event.id === shown?.condensation) {
        const before = await shownAfter(store, no, event, shown)
        if (before) return { events: newest.reverse(), before }
      }
      newest.push(event)
      wanted = record.damaged ? ANY : event.parent_id
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return { events: newest.reverse(), before: [] }
}

/** Undefined when not all of it can be read: then the log is read instead. */
async function shownAfter(store: Store, no: number, condensation: Event, { ids }: Shown): Promise<Event[] | undefined> {
  const [summary] = view([{ ...condensation, forgotten_event_ids: [], summary_offset: 0 } as Event])
  const records = await store.eventsById(no, ids)
  const events = records.map((record, i) =>
    ids[i] === summary?.id ? summary : record && !record.damaged ? eventOf(record) : undefined,
  )
  return events.includes(undefined) ? undefined : (events as Event[])
}

/** A damaged one is no more than a gap. */
const eventOf = (record: EventRecord): Event =>
  record.damaged
    ? { kind: 'CondensationRequest', id: record.id, timestamp: '', source: 'environment' }
    : JSON.parse(record.json)
