import type { Event } from '../../../src/api/events.ts'
import { parseTime } from '../../../src/lib/time.ts'
import type { Conversation } from '../../conversations/conversations.ts'
import { isResult } from '../session.ts'
import { isShown } from './shown.ts'

/** One thing in the timeline: an event, with what came of it. */
export interface Happening {
  kind: 'event'
  id: string
  event: Event
  result: Event | undefined
  /** Not on the branch that the agent goes on from. */
  isAside: boolean
}

/** Events of another branch, folded together. */
export interface Aside {
  kind: 'aside'
  id: string
  count: number
  isOpen: boolean
}

export type Entry = Happening | Aside

export const keyOf = ({ id }: Entry): string => id

/** These hang on a branch, and are none of its steps. */
const OFF_TREE: ReadonlySet<string> = new Set([
  'ConversationStateUpdateEvent',
  'StreamingDeltaEvent',
  'ServerErrorEvent',
])

/** What was damaged on disk does not say what it followed: most likely what stands before it. */
const ANY = Symbol('any')
const isDamaged = (event: Event): boolean => event.kind === 'ConversationErrorEvent' && event.code === 'EventDamaged'

export type Head = Pick<Conversation, 'leaf_event_id' | 'updated_at'>

/** The events that are on another branch than the one that the agent goes on from. */
export function asideOf(events: readonly Event[], head: Head | undefined): ReadonlySet<string> {
  const aside = new Set<string>()
  if (!head) return aside
  // What is newer than what is known of the conversation went on from there.
  const known = parseTime(head.updated_at) ?? Number.POSITIVE_INFINITY
  const newest = events.findLast(({ kind }) => !OFF_TREE.has(kind))
  const isNewer = newest && (parseTime(newest.timestamp) ?? 0) > known
  let wanted: string | typeof ANY | null | undefined = isNewer ? newest.id : head.leaf_event_id
  for (const event of events.toReversed()) {
    if (OFF_TREE.has(event.kind)) continue
    if (event.id === wanted || wanted === ANY) wanted = isDamaged(event) ? ANY : event.parent_id
    else aside.add(event.id)
  }
  for (const { id, kind, parent_id } of events) if (OFF_TREE.has(kind) && aside.has(parent_id ?? '')) aside.add(id)
  return aside
}

/** Makes entries of events; one that is as it was before is the same object again. */
export class Entries {
  #known = new Map<string, Entry>()

  of(
    events: readonly Event[],
    results: ReadonlyMap<string, Event>,
    aside: ReadonlySet<string>,
    opened: ReadonlySet<string>,
  ): readonly Entry[] {
    const ids = new Set(events.map(({ id }) => id))
    const joined = new Set([...results].filter(([action]) => ids.has(action)).map(([, result]) => result.id))
    const entries: Entry[] = []
    let group: Happening[] = []
    const flush = () => {
      // By its end: its beginning may not be read yet.
      const last = group.at(-1)
      if (!last) return
      const id = `aside-${last.id}`
      entries.push({ kind: 'aside', id, count: group.length, isOpen: opened.has(id) })
      if (opened.has(id)) entries.push(...group)
      group = []
    }
    for (const event of events) {
      if (!isShown(event) || (isResult(event) && joined.has(event.id))) continue
      const isAside = aside.has(event.id)
      if (!isAside) flush()
      const one: Happening = { kind: 'event', id: event.id, event, result: results.get(event.id), isAside }
      if (isAside) group.push(one)
      else entries.push(one)
    }
    flush()
    const kept = entries.map(entry => this.#same(entry))
    this.#known = new Map(kept.map(entry => [entry.id, entry]))
    return kept
  }

  #same(entry: Entry): Entry {
    const before = this.#known.get(entry.id)
    if (before?.kind === 'event' && entry.kind === 'event')
      return before.result === entry.result && before.isAside === entry.isAside ? before : entry
    if (before?.kind === 'aside' && entry.kind === 'aside')
      return before.count === entry.count && before.isOpen === entry.isOpen ? before : entry
    return entry
  }
}
