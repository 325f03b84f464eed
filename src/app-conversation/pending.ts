import type { PendingMessageRequest, PendingMessageResponse } from '../api/app-conversations.ts'
import { fault } from '../api/errors.ts'
import type { Conversations } from '../conversation/conversations.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { now } from '../lib/time.ts'
import { Turns } from '../lib/turns.ts'
import type { PendingRow, Store } from '../store/store.ts'
import type { StartTasks } from './start-tasks.ts'

/** What a person may say before anybody listens. */
const WAITING = 10

export interface PendingParts {
  store: Store
  tasks: StartTasks
  conversations: Conversations
  log: Log
}

/**
 * What is said to a conversation that is still being started. It is kept, and said once the conversation is there, in order and
 * exactly once: a message keeps its id, so that after a crash it is known whether it was said.
 */
export class PendingMessages {
  readonly #parts: PendingParts
  readonly #turns = new Turns()

  constructor(parts: PendingParts) {
    this.#parts = parts
  }

  /** `to` is a conversation, or the start that leads to one. */
  async add(
    to: { conversation: string } | { task: string },
    message: PendingMessageRequest,
  ): Promise<PendingMessageResponse> {
    const { store, tasks } = this.#parts
    const conversation = 'task' in to ? (await tasks.get(to.task)).conversation : to.conversation
    const [there] = await store.conversations([conversation])
    if (!there) await this.#checkStarting(conversation)
    const id = newId()
    const row: PendingRow = { id, conversation, createdAt: now(), json: JSON.stringify(message) }
    const position = await store.addPending(row, WAITING)
    if (position === 0) throw fault('too_many_pending', WAITING)
    // It may have come to be between the look and the write.
    if (there || (await store.conversations([conversation]))[0]) await this.deliver(conversation)
    return { id, queued: true, position }
  }

  /** Says what waits. What cannot be said now stays for the next start of the server. */
  deliver(conversation: string): Promise<void> {
    return this.#turns.take(conversation, async () => {
      const { store, conversations, log } = this.#parts
      try {
        for (const row of await store.pendingMessages(conversation)) {
          const { no } = await conversations.record(conversation)
          const [said] = await store.eventsById(no, [row.id])
          if (!said && !row.damaged)
            await conversations.send(conversation, { ...messageIn(row), run: true }, { event: row.id })
          await store.deletePending(row.id)
        }
      } catch (error) {
        log.warn('pending', { conversation, error: String(error) })
      }
    })
  }

  /** After a crash: what waits for a conversation that is there. */
  async recover(): Promise<void> {
    const { store } = this.#parts
    const waiting = await store.conversationsWithPending()
    const records = await store.conversations(waiting)
    for (const [i, conversation] of waiting.entries()) if (records[i]) await this.deliver(conversation)
  }

  async #checkStarting(conversation: string): Promise<void> {
    const task = await this.#parts.tasks.of(conversation)
    if (!task || task.record.status === 'ERROR') throw fault('conversation_not_found', conversation)
  }
}

const messageIn = ({ json }: PendingRow): PendingMessageRequest => JSON.parse(json)
