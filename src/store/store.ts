import type { Micros } from '../lib/time.ts'

/**
 * What is remembered. One contract suite (test/contract/store.ts) says what every adapter must do.
 *
 * - A write resolves only when it is durable, and reads show durable data only.
 * - Writes of one call are atomic; writes of all callers are committed in the order they were made, in groups.
 * - A write that fails rejects with a Fault (`storage_full`, `storage_failed`, `conflict`, `overloaded`) and is
 *   never retried here. What it would have written may or may not be there afterwards: read again before you go on.
 */
export interface Store {
  /** Makes a small durable write and tells whether it went through. */
  health(): Promise<{ writable: boolean; reason?: string }>

  /** False when a conversation with this id exists already; then nothing is written. */
  createConversation(conversation: NewConversation, events: NewEvent[]): Promise<boolean>
  /** Appends after position `after`; `conflict` when the log is elsewhere by now. */
  append(append: Append): Promise<void>
  /** The conversation is gone at once; its events are removed in the background. False when there was none. */
  deleteConversation(id: string): Promise<boolean>

  conversations(ids: string[]): Promise<(ConversationRecord | undefined)[]>
  /** The named parts of each conversation, aligned with `nos`. */
  conversationParts(nos: number[], names: string[]): Promise<Record<string, string>[]>
  searchConversations(query: ConversationQuery): Promise<{ items: ConversationRecord[]; next: string | undefined }>
  countConversations(status?: string): Promise<number>
  /** By parent id. */
  childrenOf(ids: string[]): Promise<Map<string, string[]>>

  /** In log order, or newest first with `backward`. */
  readEvents(query: EventQuery): Promise<EventRecord[]>
  countEvents(query: EventFilter): Promise<number>
  /** Aligned with `ids`. */
  eventsById(no: number, ids: string[]): Promise<(EventRecord | undefined)[]>
  /** The position of the first event at or after this time: `head + 1` when there is none. */
  positionAt(no: number, at: Micros): Promise<number>

  /** Small named values: settings, secrets. Version 0 means that there is none yet. */
  readDocument(name: string): Promise<StoredDocument>
  /** `conflict` unless the stored version is still `version`. */
  writeDocument(name: string, json: string, version: number): Promise<void>

  close(): Promise<void>
}

export interface StoredDocument {
  version: number
  /** Undefined when there is none, or when it did not survive on disk. */
  json: string | undefined
  damaged?: true
}

export interface NewEvent {
  id: string
  kind: string
  source: string
  at: Micros
  /** The event as it goes over the wire, null fields left out. */
  json: string
  /** Lower-case text that a search for words looks at, where the event has any. */
  text?: string
}

export interface EventRecord extends Omit<NewEvent, 'text'> {
  /** Position in the log: 1, 2, 3 … without gap. */
  seq: number
  /** The record did not survive on disk: `json` is not to be trusted. */
  damaged?: true
}

/** What is folded from the log and kept beside it, so that no reader has to fold. */
export interface Folded {
  head: number
  status: string
  updatedAt: Micros
  /** The folded state, as JSON. */
  state: string
}

export interface NewConversation extends Folded {
  id: string
  createdAt: Micros
  title: string | null
  parentId: string | null
  /** Named JSON parts: what was ordered, kept apart so that a list need not read what it does not show. */
  parts: Record<string, string>
}

export interface ConversationRecord extends Folded {
  /** The store's own key: a deleted conversation's number is never used again. */
  no: number
  id: string
  createdAt: Micros
  title: string | null
  parentId: string | null
  /** `state` did not survive on disk and must be folded again from the log. */
  damaged?: true
}

export interface Append extends Folded {
  no: number
  /** The position the events go after. */
  after: number
  /** May be none, when only what stands beside the log changes. */
  events: NewEvent[]
  title?: string
  /** Parts to be replaced. */
  parts?: Record<string, string>
}

export interface ConversationQuery {
  order: 'created' | 'updated'
  descending: boolean
  limit: number
  status?: string
  /** The id of the first conversation of the page; an unknown one starts from the beginning. */
  from?: string
}

export interface EventFilter {
  no: number
  /** Positions, inclusive. */
  from?: number
  to?: number
  kind?: string
  source?: string
  /** Lower-case words that must occur in the event's text. */
  text?: string
}

export interface EventQuery extends EventFilter {
  limit: number
  /** Stop once the events read so far are this long: at least one is read, however long. */
  characters?: number
  backward?: boolean
}
