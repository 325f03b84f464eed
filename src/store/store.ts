import type { Micros } from '../lib/time.ts'
import type { WebhookStore } from './webhook-port.ts'

export type * from './webhook-port.ts'

/**
 * What is remembered. One contract suite (test/contract/store.ts) says what every adapter must do.
 *
 * - A write resolves only when it is durable, and reads show durable data only.
 * - Writes of one call are atomic; writes of all callers are committed in the order they were made, in groups.
 * - A write that fails rejects with a Fault (`storage_full`, `storage_failed`, `conflict`, `overloaded`) and is
 *   never retried here. What it would have written may or may not be there afterwards: read again before you go on.
 */
export interface Store extends WebhookStore {
  /** Makes a small durable write and tells whether it went through. */
  health(): Promise<{ writable: boolean; reason?: string }>

  /** False when a conversation with this id exists already; then nothing is written. */
  createConversation(conversation: NewConversation, events: NewEvent[]): Promise<boolean>
  /** Appends after position `after`; `conflict` when the log is elsewhere by now. */
  append(append: Append): Promise<void>
  /**
   * The conversation is gone at once; its events are removed in the background. False when there was none. `farewell` is what
   * webhooks are told of it, instead of what they were still owed; nothing unless given.
   */
  deleteConversation(id: string, farewell?: string): Promise<boolean>

  conversations(ids: string[]): Promise<(ConversationRecord | undefined)[]>
  /** The named parts of each conversation, aligned with `nos`. */
  conversationParts(nos: number[], names: string[]): Promise<Record<string, string>[]>
  searchConversations(query: ConversationQuery): Promise<{ items: ConversationRecord[]; next: string | undefined }>
  countConversations(filter?: ConversationFilter): Promise<number>
  /** By parent id. */
  childrenOf(ids: string[]): Promise<Map<string, string[]>>

  /** In log order, or newest first with `backward`. */
  readEvents(query: EventQuery): Promise<EventRecord[]>
  countEvents(query: EventFilter): Promise<number>
  /** Aligned with `ids`. */
  eventsById(no: number, ids: string[]): Promise<(EventRecord | undefined)[]>
  /** The position of the first event at or after this time: `head + 1` when there is none. */
  positionAt(no: number, at: Micros): Promise<number>

  /** Appends to the log of a sandbox's commands, and lets go of the oldest beyond what is kept. The last one's position. */
  appendBash(append: BashAppend): Promise<number>
  /** In log order, or newest first with `backward`. */
  readBash(query: BashQuery): Promise<BashRecord[]>
  /** Aligned with `ids`. */
  bashById(sandbox: string, ids: string[]): Promise<(BashRecord | undefined)[]>
  /** The position of the last event that ever was; 0 before the first. */
  bashHead(sandbox: string): Promise<number>
  /** Of all sandboxes, the commands whose last output has not come. */
  runningBash(): Promise<BashRecord[]>
  /** Removes the events of commands that have ended, and tells how many they were. */
  clearBash(sandbox: string): Promise<number>

  /** Small named values: settings, secrets. Version 0 means that there is none yet. */
  readDocument(name: string): Promise<StoredDocument>
  /** `conflict` unless the stored version is still `version`. */
  writeDocument(name: string, json: string, version: number): Promise<void>

  /** All there are, oldest first: they are few beside conversations, and each is a machine. */
  sandboxes(): Promise<SandboxRow[]>
  /** `conflict` unless the stored version is still that of the row; version 0 means that there is none yet. */
  writeSandbox(row: SandboxRow): Promise<void>
  /** False when there was none. */
  deleteSandbox(id: string): Promise<boolean>

  /** Aligned with `ids`. */
  startTasks(ids: string[]): Promise<(StartTaskRow | undefined)[]>
  startTaskByKey(key: string): Promise<StartTaskRow | undefined>
  /** The newest one that was to lead to this conversation. */
  startTaskOf(conversation: string): Promise<StartTaskRow | undefined>
  /** Those that have not come to an end, oldest first. */
  openStartTasks(): Promise<StartTaskRow[]>
  searchStartTasks(query: StartTaskQuery): Promise<{ items: StartTaskRow[]; next: string | undefined }>
  countStartTasks(filter: StartTaskFilter): Promise<number>
  /** `conflict` unless the stored version is still that of the row; version 0 means that there is none yet, nor one with its key. */
  writeStartTask(row: StartTaskRow): Promise<void>

  /** What waits to be said in a conversation, in the order it came. */
  pendingMessages(conversation: string): Promise<PendingRow[]>
  conversationsWithPending(): Promise<string[]>
  /** Its place among those that wait, from 1; 0, and nothing is written, when `limit` wait already. */
  addPending(row: PendingRow, limit: number): Promise<number>
  /** False when there was none. */
  deletePending(id: string): Promise<boolean>

  close(): Promise<void>
}

export interface StartTaskRow {
  id: string
  createdAt: Micros
  updatedAt: Micros
  version: number
  /** It has not come to an end. */
  open: boolean
  /** The conversation it leads to, whether or not it is there yet. */
  conversation: string
  /** What its caller named it by, so as not to order twice. */
  key: string | null
  json: string
  /** What was ordered: apart, for it may be large and hardly ever changes. */
  order: string
  /** The record did not survive on disk: `json` is not to be trusted. */
  damaged?: true
}

export interface StartTaskFilter {
  conversation?: string
  createdFrom?: Micros
}

export interface StartTaskQuery extends StartTaskFilter {
  descending: boolean
  limit: number
  /** Stop once what is read so far is this long: at least one is read, however long. */
  characters?: number
  /** The `next` of the page before. Anything else is the beginning. */
  from?: string
}

export interface PendingRow {
  id: string
  conversation: string
  createdAt: Micros
  json: string
  /** The record did not survive on disk: `json` is not to be trusted. */
  damaged?: true
}

export interface SandboxRow {
  id: string
  createdAt: Micros
  version: number
  json: string
  /** The record did not survive on disk: `json` is not to be trusted. */
  damaged?: true
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
  /** Where its hands are. Null in those older than sandboxes: the default one. */
  sandbox: string | null
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
  sandbox: string | null
  /** `state` did not survive on disk and must be folded again from the log. */
  damaged?: true
}

export interface Append extends Folded {
  no: number
  /** The position the events go after. */
  after: number
  /** May be none, when only what stands beside the log changes. */
  events: NewEvent[]
  /** Null takes it away. */
  title?: string | null
  /** Parts to be replaced. */
  parts?: Record<string, string>
}

export interface NewBashEvent {
  id: string
  kind: 'BashCommand' | 'BashOutput'
  /** The id of the command; its own, for a command. */
  command: string
  /** Its place among the outputs of its command; -1 for the command itself. */
  order: number
  at: Micros
  /** As it goes over the wire, null fields included. */
  json: string
  /** The last output: its command is over. */
  last?: true
}

export interface BashRecord extends Omit<NewBashEvent, 'last'> {
  sandbox: string
  /** Position in the sandbox's log. Increases, and is never used again; what was let go of leaves gaps. */
  seq: number
  last: boolean
  /** The record did not survive on disk: `json` is not to be trusted. */
  damaged?: true
}

export interface BashAppend {
  sandbox: string
  events: NewBashEvent[]
  /** What the log may hold afterwards. Commands that run stay in any case. */
  keep: { events: number; characters: number; since: Micros }
}

export interface BashQuery {
  sandbox: string
  /** Positions, inclusive. */
  from?: number
  to?: number
  kind?: string
  command?: string
  /** Outputs with a higher place, and commands. */
  afterOrder?: number
  /** Times, the second one exclusive. */
  since?: Micros
  until?: Micros
  limit: number
  /** Stop once the events read so far are this long: at least one is read, however long. */
  characters?: number
  backward?: boolean
}

export interface ConversationFilter {
  status?: string
  sandbox?: string
  /** Only those that are nobody's child. */
  top?: boolean
  /** Occurs in the title, whatever the case of its Latin letters. */
  title?: string
  /** All of them, with that value where one is named. */
  tags?: readonly { name: string; value?: string }[]
  /** Times, the second one of each pair exclusive. */
  createdFrom?: Micros
  createdBefore?: Micros
  updatedFrom?: Micros
  updatedBefore?: Micros
}

export interface ConversationQuery extends ConversationFilter {
  order: 'created' | 'updated'
  descending: boolean
  limit: number
  /** The `next` of the page before: a place in the list, whatever became of who stood there. Anything else is the beginning. */
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
