import type * as z from 'zod'
import { Fault } from '../api/errors.ts'
import { SocketMessage } from '../api/events.ts'
import { eventsSocket } from '../api/routes/sockets.ts'
import type { Conversations } from '../conversation/conversations.ts'
import { unplaced } from '../conversation/draft.ts'
import type { Events } from '../conversation/events.ts'
import type { Log } from '../lib/log.ts'
import type { ConversationRecord } from '../store/store.ts'
import type { Complaint, Guest, Room } from './sockets.ts'
import type { Streams } from './stream.ts'

type Query = z.output<typeof eventsSocket.query>

/** `/sockets/events/{conversation_id}`: follows a conversation, and takes messages for it. */
export class EventSockets implements Room {
  readonly spec = eventsSocket
  readonly #parts: { conversations: Conversations; events: Events; streams: Streams; log: Log }

  constructor(parts: { conversations: Conversations; events: Events; streams: Streams; log: Log }) {
    this.#parts = parts
  }

  async enter({ socket, sink, scope, params, query }: Guest): Promise<void> {
    const { conversations, streams, log } = this.#parts
    const id = params.conversation_id as string
    try {
      const record = await conversations.record(id, scope)
      const after = await this.#cursor(record, query as Query)
      const stop = streams.follow(id, record.no, after, sink)
      if (!stop) {
        socket.close(1013, 'Too many connections for this conversation')
        return
      }
      socket.once('close', stop)
      // It may have gone while its place was looked up; then nobody says so again.
      if (socket.readyState === socket.CLOSED) stop()
      log.info('socket', { conversation: id, after: after.seq })
    } catch (error) {
      if (error instanceof Fault && error.code === 'conversation_not_found')
        socket.close(4004, 'Conversation not found')
      else if (error instanceof Fault && error.code === 'event_not_found') socket.close(4004, 'Event not found')
      else {
        log.error('socket', { conversation: id, error: String(error) })
        socket.close(1011, 'Internal error')
      }
    }
  }

  /** A message, as `POST …/events` with `run`. */
  async hear({ params }: Guest, frame: unknown): Promise<void> {
    const { role, content } = SocketMessage.parse(frame)
    await this.#parts.conversations.send(params.conversation_id as string, { role, content, run: true })
  }

  complaint({ code, detail }: Complaint): unknown {
    return unplaced({ kind: 'ServerErrorEvent', source: 'environment', code, detail })
  }

  async #cursor(record: ConversationRecord, query: Query) {
    const { events } = this.#parts
    if (query.after) return { seq: await events.positionOf(record, query.after), id: query.after }
    const mode = query.resend_mode ?? (query.resend_all ? 'all' : undefined)
    if (mode === 'all') return { seq: 0, id: undefined }
    if (mode === 'since' && query.after_timestamp)
      return { seq: await events.positionBefore(record, query.after_timestamp), id: undefined }
    return { seq: record.head, id: undefined }
  }
}
