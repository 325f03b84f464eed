import type { Writable } from 'node:stream'
import type { Event } from '../api/events.ts'
import type { Listener } from '../conversation/feed.ts'
import type { EventRecord } from '../store/store.ts'
import { type Encoding, encoders } from './frames.ts'
import { READER_BUFFER_BYTES, READER_LOW_BYTES, READER_PATIENCE_MS, READERS_PER_CONVERSATION } from './limits.ts'

/** The transport's end of a reader. */
export interface Sink {
  readonly encoding: Encoding
  write(chunk: Buffer): void
  /** Bytes written that the peer has not taken yet. */
  buffered(): number
  /** Resolves when the peer has caught up, or is gone. */
  drained(): Promise<void>
  /** Says why, after everything written so far. */
  close(code: number, reason: string): void
}

/** Resolves when everything written to a stream is out, or it is gone. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    if (!stream.writableNeedDrain) return resolve()
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })

/** Without a length to tell by, only a broken connection says that something is missing. */
export async function forward(source: AsyncIterable<Uint8Array>, out: Writable): Promise<void> {
  try {
    for await (const chunk of source) {
      if (out.destroyed) return
      if (!out.write(chunk)) await drained(out)
    }
    out.end()
  } catch {
    out.destroy()
  }
}

/** What a reader needs of an event. */
export type Told = Pick<EventRecord, 'seq' | 'id' | 'json'>

/** What the streams need to know of what is followed: conversations, or the commands of a sandbox. */
export interface Source {
  feed: { listen(id: string, listener: Listener<Told>): () => void }
  /** Durable events after a position, oldest first: as many as a reader that is catching up may hold. */
  eventsAfter(log: { id: string; no: number }, seq: number): Promise<Told[]>
  /** The state as one event, as a new reader gets it. Undefined when the conversation is gone. */
  snapshot?(id: string): Promise<Event | undefined>
  /** Readers that one log may have. */
  readers?: number
}

/** All readers of all logs of a kind. */
export class Streams {
  readonly #source: Source
  readonly #channels = new Map<string, Channel>()

  constructor(source: Source) {
    this.#source = source
  }

  /**
   * Follows a log from a position: first the snapshot, then every event after it, once, in order, without gap.
   * Returns the function that ends it, or undefined when the conversation has too many readers.
   */
  follow(id: string, no: number, after: { seq: number; id: string | undefined }, sink: Sink): (() => void) | undefined {
    let channel = this.#channels.get(id)
    if (!channel) {
      channel = new Channel(id, this.#source, () => this.#channels.delete(id))
      this.#channels.set(id, channel)
    }
    return channel.add(no, after, sink)
  }

  /** Ends every reader: the server restarts. */
  close(): void {
    for (const channel of this.#channels.values()) channel.close()
  }

  get readers(): number {
    return this.#channels.values().reduce((sum, channel) => sum + channel.size, 0)
  }
}

/** The readers of one conversation. What is told is encoded once, however many listen. */
class Channel implements Listener<Told> {
  readonly #id: string
  readonly #source: Source
  readonly #readers = new Set<Reader>()
  readonly #end: () => void

  constructor(id: string, source: Source, ended: () => void) {
    this.#id = id
    this.#source = source
    const unlisten = source.feed.listen(id, this)
    this.#end = () => {
      unlisten()
      ended()
    }
  }

  get size(): number {
    return this.#readers.size
  }

  add(no: number, after: { seq: number; id: string | undefined }, sink: Sink): (() => void) | undefined {
    if (this.#readers.size >= (this.#source.readers ?? READERS_PER_CONVERSATION)) return undefined
    const leave = () => {
      if (this.#readers.delete(reader) && this.#readers.size === 0) this.#end()
    }
    const reader = new Reader({ id: this.#id, no, after, sink, source: this.#source, leave })
    this.#readers.add(reader)
    void reader.start()
    return () => reader.stop()
  }

  events(records: readonly Told[]): void {
    const chunks: Partial<Record<Encoding, Buffer>> = {}
    for (const reader of this.#readers) {
      const { encoding } = reader
      reader.offer(records, () => (chunks[encoding] ??= encoders[encoding].events(records)))
    }
  }

  passing(event: Event): void {
    const json = JSON.stringify(event)
    const chunks: Partial<Record<Encoding, Buffer>> = {}
    for (const reader of this.#readers) {
      const { encoding } = reader
      reader.offerPassing(event, () => (chunks[encoding] ??= encoders[encoding].passing(json)))
    }
  }

  deleted(): void {
    for (const reader of this.#readers) reader.end(4004, 'Conversation deleted')
  }

  close(): void {
    for (const reader of this.#readers) reader.end(1012, 'The server restarts')
  }
}

interface ReaderParts {
  id: string
  no: number
  after: { seq: number; id: string | undefined }
  sink: Sink
  source: Source
  leave: () => void
}

/**
 * One reader with one cursor. It reads the log page by page at its peer's pace; once a page is empty and nothing was
 * told meanwhile it is live, and gets what is told as it is told. A gap, should there ever be one, sends it back to
 * reading.
 */
class Reader {
  readonly #parts: ReaderParts
  #cursor: number
  #lastId: string | undefined
  #live = false
  /** Something was told while this reader was not live. */
  #missed = false
  /** A snapshot was: a fresh one is due when it is live again. */
  #missedSnapshot = false
  #ended = false

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#cursor = parts.after.seq
    this.#lastId = parts.after.id
  }

  get encoding(): Encoding {
    return this.#parts.sink.encoding
  }

  async start(): Promise<void> {
    await this.#sendSnapshot().catch(() => this.end(1011, 'The conversation cannot be read'))
    await this.#catchUp()
  }

  offer(records: readonly Told[], shared: () => Buffer): void {
    if (!this.#live) {
      this.#missed = true
      return
    }
    const first = records[0]!.seq
    if (records.at(-1)!.seq <= this.#cursor) return
    if (first > this.#cursor + 1) {
      void this.#catchUp()
      return
    }
    if (this.#parts.sink.buffered() > READER_BUFFER_BYTES) {
      void this.#fallBack()
      return
    }
    const known = this.#cursor + 1 - first
    this.#send(records, known === 0 ? shared() : encoders[this.encoding].events(records.slice(known)))
  }

  offerPassing(event: Event, shared: () => Buffer): void {
    if (this.#live && this.#parts.sink.buffered() <= READER_BUFFER_BYTES) {
      this.#parts.sink.write(shared())
      return
    }
    if (event.kind === 'ConversationStateUpdateEvent') this.#missedSnapshot = true
    if (this.#live) void this.#fallBack()
  }

  end(code: number, reason: string): void {
    if (this.#ended) return
    this.stop()
    this.#parts.sink.close(code, reason)
  }

  stop(): void {
    this.#ended = true
    this.#live = false
    this.#parts.leave()
  }

  /** One large batch is no sign of a slow reader: it may empty its buffer, and then goes on from the log. */
  async #fallBack(): Promise<void> {
    const { sink } = this.#parts
    this.#live = false
    const patience = setTimeout(() => this.end(1013, `Reader too slow${this.#whence}`), READER_PATIENCE_MS)
    await sink.drained()
    clearTimeout(patience)
    await this.#catchUp()
  }

  /** What a reader must know to come back. */
  get #whence(): string {
    return this.#lastId ? `; resume after ${this.#lastId}` : ''
  }

  async #catchUp(): Promise<void> {
    const { source, id, no, sink } = this.#parts
    this.#live = false
    try {
      while (!this.#ended) {
        this.#missed = false
        const page = await source.eventsAfter({ id, no }, this.#cursor)
        if (this.#ended) return
        if (page.length > 0) {
          this.#send(page, encoders[this.encoding].events(page))
          if (sink.buffered() > READER_LOW_BYTES) await sink.drained()
        } else if (this.#missedSnapshot) {
          this.#missedSnapshot = false
          await this.#sendSnapshot()
        } else if (!this.#missed) {
          this.#live = true
          return
        }
      }
    } catch {
      this.end(1011, `The log cannot be read${this.#whence}`)
    }
  }

  async #sendSnapshot(): Promise<void> {
    const { source, id } = this.#parts
    if (!source.snapshot) return
    const snapshot = await source.snapshot(id)
    if (this.#ended) return
    if (snapshot) this.#parts.sink.write(encoders[this.encoding].passing(JSON.stringify(snapshot)))
    else this.end(4004, 'Conversation not found')
  }

  #send(records: readonly Told[], chunk: Buffer): void {
    const last = records.at(-1)!
    this.#cursor = last.seq
    this.#lastId = last.id
    this.#parts.sink.write(chunk)
  }
}
