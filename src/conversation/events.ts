import { fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import { formatNaive, parseTime } from '../lib/time.ts'
import type { ConversationRecord, EventFilter, EventRecord, Store } from '../store/store.ts'

export interface EventFilters {
  kind: string | null
  source: string | null
  body: string | null
  timestamp__gte: string | null
  timestamp__lt: string | null
}

/** A page is cut short rather than made larger than this: it is one text in memory, and one answer. */
const PAGE_CHARACTERS = 32 * 1024 * 1024

/** Reading a log. A time is a position, since times strictly increase along it. */
export class Events {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** One page, as the JSON texts of its events. */
  async search(
    record: ConversationRecord,
    filters: EventFilters,
    page: { id: string | null; limit: number; backward: boolean },
  ): Promise<{ items: string[]; next: string | null }> {
    const query = await this.#query(record, filters)
    const start = page.id ? (await this.#store.eventsById(record.no, [page.id]))[0]?.seq : undefined
    if (start !== undefined && page.backward) query.to = Math.min(query.to, start)
    else if (start !== undefined) query.from = Math.max(query.from, start)
    const read = (limit: number, characters?: number) =>
      this.#store.readEvents({ ...query, limit, backward: page.backward, ...(characters && { characters }) })
    const records = await read(page.limit + 1, PAGE_CHARACTERS)
    // One event may be a page of its own: then only a second look tells what follows.
    if (records.length === 1) records.push(...(await read(2)).slice(1))
    const isCut = records.length <= page.limit && lengthOf(records) >= PAGE_CHARACTERS
    const items = records.slice(0, isCut ? -1 : page.limit)
    return { items: items.map(legible), next: records[items.length]?.id ?? null }
  }

  async count(record: ConversationRecord, filters: EventFilters): Promise<number> {
    const query = await this.#query(record, filters)
    if (filters.kind || filters.source || filters.body) return this.#store.countEvents(query)
    return Math.max(0, query.to - query.from + 1)
  }

  /** Aligned with `ids`. */
  async byId(record: ConversationRecord, ids: string[]): Promise<(Event | undefined)[]> {
    const records = await this.#store.eventsById(record.no, ids)
    return records.map(found => found && JSON.parse(legible(found)))
  }

  async positionOf(record: ConversationRecord, id: string): Promise<number> {
    const [found] = await this.#store.eventsById(record.no, [id])
    if (!found) throw fault('event_not_found', id)
    return found.seq
  }

  /** The position before the first event at or after a time. */
  async positionBefore(record: ConversationRecord, time: string): Promise<number> {
    return (await this.#store.positionAt(record.no, parseTime(time) ?? 0)) - 1
  }

  /** What follows a position, up to so many events or characters. */
  async after(no: number, seq: number, limit: number, characters: number): Promise<EventRecord[]> {
    const records = await this.#store.readEvents({ no, from: seq + 1, limit, characters })
    return records.map(record => (record.damaged ? { ...record, json: legible(record) } : record))
  }

  async #query(record: ConversationRecord, filters: EventFilters) {
    const { timestamp__gte: gte, timestamp__lt: lt } = filters
    const query: EventFilter & { from: number; to: number } = {
      no: record.no,
      from: gte === null ? 1 : (await this.positionBefore(record, gte)) + 1,
      to: lt === null ? record.head : await this.positionBefore(record, lt),
    }
    const kind = filters.kind?.split('.').at(-1) ?? (filters.body ? 'MessageEvent' : undefined)
    if (kind) query.kind = kind
    if (filters.source) query.source = filters.source
    if (filters.body) query.text = filters.body.toLowerCase()
    return query
  }
}

const lengthOf = (records: EventRecord[]): number => records.reduce((sum, { json }) => sum + json.length, 0)

/** The event's JSON; for one that did not survive on disk, an error event in its place, under its name. */
function legible(record: EventRecord): string {
  if (!record.damaged) return record.json
  const { id, at } = record
  const standIn: Event = {
    kind: 'ConversationErrorEvent',
    id,
    timestamp: formatNaive(at),
    source: 'environment',
    code: 'EventDamaged',
    detail: `The ${record.kind} that stood here is damaged on disk`,
    classification: { kind: 'internal', retryable: false, user_action: 'none' },
  }
  return JSON.stringify(standIn)
}
