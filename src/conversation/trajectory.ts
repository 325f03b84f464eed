import type { ConversationInfo } from '../api/conversations.ts'
import { hexUuid } from '../lib/id.ts'
import { type ZipEntry, zip } from '../lib/zip.ts'
import type { ConversationRecord } from '../store/store.ts'
import type { Conversations } from './conversations.ts'
import type { Events } from './events.ts'

/** Read at once: a page of a log, so that a long one never stands in memory. */
const PAGE = 200
const PAGE_CHARACTERS = 4 * 1024 * 1024

/** How files are named; an event by its place, from 0, and its id. */
export type Layout = (conversation: string) => { meta: string; event: (place: number, id: string) => string }

const inFolders: Layout = folder => ({
  meta: `${folder}/meta.json`,
  event: (place, id) => `${folder}/events/event-${String(place).padStart(5, '0')}-${id}.json`,
})

/** As app servers pack them. */
export const flat: Layout = () => ({
  meta: 'meta.json',
  event: (place, id) => `event_${String(place).padStart(6, '0')}_${id}.json`,
})

/** Conversations as files to take away. Secrets are left out, as wherever a conversation is shown. */
export class Trajectories {
  readonly #conversations: Conversations
  readonly #events: Events

  constructor(conversations: Conversations, events: Events) {
    this.#conversations = conversations
    this.#events = events
  }

  /** Rejects when there is no such conversation; what follows is as of this moment. */
  async zip(id: string, scope?: string, layout: Layout = inFolders): Promise<AsyncIterable<Uint8Array>> {
    const record = await this.#conversations.record(id, scope)
    return zip(this.#entries(record, await this.#conversations.get(id, true), layout))
  }

  async *#entries(record: ConversationRecord, info: ConversationInfo, layout: Layout): AsyncGenerator<ZipEntry> {
    const { meta, event: nameOf } = layout(hexUuid(record.id))
    const modified = new Date(record.updatedAt / 1000)
    yield { name: meta, content: JSON.stringify(info, null, 2), modified }
    for (let seq = 0; seq < record.head; ) {
      const page = await this.#events.after(record.no, seq, PAGE, PAGE_CHARACTERS)
      if (page.length === 0) return
      for (const event of page) {
        seq = event.seq
        if (seq > record.head) return
        const name = nameOf(seq - 1, plain(event.id))
        yield { name, content: event.json, modified: new Date(event.at / 1000) }
      }
    }
  }
}

/** An id is free text; a file name is not. */
const plain = (id: string): string => id.replaceAll(/[^\w.-]/g, '_').slice(0, 100)
