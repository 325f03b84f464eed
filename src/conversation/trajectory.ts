import type { ConversationInfo } from '../api/conversations.ts'
import { hexUuid } from '../lib/id.ts'
import { type ZipEntry, zip } from '../lib/zip.ts'
import type { ConversationRecord } from '../store/store.ts'
import type { Conversations } from './conversations.ts'
import type { Events } from './events.ts'

/** Read at once: a page of a log, so that a long one never stands in memory. */
const PAGE = 200
const PAGE_CHARACTERS = 4 * 1024 * 1024

/** Conversations as files to take away. Secrets are left out, as wherever a conversation is shown. */
export class Trajectories {
  readonly #conversations: Conversations
  readonly #events: Events

  constructor(conversations: Conversations, events: Events) {
    this.#conversations = conversations
    this.#events = events
  }

  /** Rejects when there is no such conversation; what follows is as of this moment. */
  async zip(id: string, scope?: string): Promise<AsyncIterable<Uint8Array>> {
    const record = await this.#conversations.record(id, scope)
    return zip(this.#entries(record, await this.#conversations.get(id, true)))
  }

  async *#entries(record: ConversationRecord, info: ConversationInfo): AsyncGenerator<ZipEntry> {
    const folder = hexUuid(record.id)
    const modified = new Date(record.updatedAt / 1000)
    yield { name: `${folder}/meta.json`, content: JSON.stringify(info, null, 2), modified }
    for (let seq = 0; seq < record.head; ) {
      const page = await this.#events.after(record.no, seq, PAGE, PAGE_CHARACTERS)
      if (page.length === 0) return
      for (const event of page) {
        seq = event.seq
        if (seq > record.head) return
        const name = `event-${String(seq - 1).padStart(5, '0')}-${plain(event.id)}.json`
        yield { name: `${folder}/events/${name}`, content: event.json, modified: new Date(event.at / 1000) }
      }
    }
  }
}

/** An id is free text; a file name is not. */
const plain = (id: string): string => id.replaceAll(/[^\w.-]/g, '_').slice(0, 100)
