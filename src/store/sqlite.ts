import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { fault } from '../api/errors.ts'
import { openDatabase, type Synchronous } from './database.ts'
import { migrate } from './migrations.ts'
import { Reads } from './reads.ts'
import type {
  Append,
  BashAppend,
  NewConversation,
  NewEvent,
  PendingRow,
  SandboxRow,
  StartTaskRow,
  Store,
  WebhookFailed,
  WebhookTerms,
  WebhookTold,
} from './store.ts'
import type { WriterData, WriterReply } from './writer.ts'
import type { Write, WriteResult } from './writes.ts'

/** A group waits for one commit: large enough to fill a disk's patience, small enough to be fair. */
const GROUP_WRITES = 1000
/** Text waiting to be written, in characters. Past it the disk is too slow for what is asked: say so. */
const QUEUE_CHARACTERS = 64 * 1024 * 1024

export interface SqliteOptions {
  synchronous?: Synchronous
  onFailure?: (reason: string) => void
}

interface Waiting {
  write: Write
  size: number
  resolve: (result: WriteResult) => void
  reject: (reason: Error) => void
}

/**
 * The embedded store: reads on the caller's thread (they are short, and see what is committed), writes on a thread of
 * their own. While a group is being committed the next one gathers.
 */
export class SqliteStore extends Reads implements Store {
  readonly #db: DatabaseSync
  readonly #data: WriterData
  readonly #onFailure: SqliteOptions['onFailure']
  #worker: Worker | undefined
  #queue: Waiting[] = []
  #queued = 0
  #inFlight: Waiting[] | undefined
  #pumping = false
  #closing: (() => void) | undefined
  #closed: Promise<void> | undefined

  /** `onFailure` hears why the disk refused a group; the callers only get the fault. */
  static open(file: string, options: SqliteOptions = {}): SqliteStore {
    const { synchronous = 'full', onFailure } = options
    const db = openDatabase(file, synchronous)
    migrate(db)
    return new SqliteStore(db, { file, synchronous }, onFailure)
  }

  private constructor(db: DatabaseSync, data: WriterData, onFailure: SqliteOptions['onFailure']) {
    super(db)
    this.#onFailure = onFailure
    this.#db = db
    this.#data = data
    if (this.hasPurges()) this.#purge()
  }

  async health(): Promise<{ writable: boolean; reason?: string }> {
    try {
      await this.#write({ do: 'probe' })
      return { writable: true }
    } catch (error) {
      return { writable: false, reason: (error as Error).message }
    }
  }

  async createConversation(conversation: NewConversation, events: NewEvent[]): Promise<boolean> {
    return settled(await this.#write({ do: 'create', conversation, events }), 'The conversation')
  }

  async append(append: Append): Promise<void> {
    settled(await this.#write({ do: 'append', append }), 'The conversation')
  }

  async deleteConversation(id: string, farewell?: string): Promise<boolean> {
    const deleted = (await this.#write({ do: 'delete', id, farewell })) === true
    if (deleted) this.#purge()
    return deleted
  }

  async writeDocument(name: string, json: string, version: number): Promise<void> {
    settled(await this.#write({ do: 'document', name, json, version }), `The document ${name}`)
  }

  async writeSandbox(row: SandboxRow): Promise<void> {
    settled(await this.#write({ do: 'sandbox', row }), 'The sandbox')
  }

  async deleteSandbox(id: string): Promise<boolean> {
    return (await this.#write({ do: 'delete-sandbox', id })) === true
  }

  async appendBash(append: BashAppend): Promise<number> {
    return told(await this.#write({ do: 'bash', append }))
  }

  async clearBash(sandbox: string): Promise<number> {
    return told(await this.#write({ do: 'clear-bash', sandbox }))
  }

  async writeStartTask(row: StartTaskRow): Promise<void> {
    settled(await this.#write({ do: 'start-task', row }), 'The start task')
  }

  async addPending(row: PendingRow, limit: number): Promise<number> {
    return told(await this.#write({ do: 'pending', row, limit }))
  }

  async deletePending(id: string): Promise<boolean> {
    return (await this.#write({ do: 'delete-pending', id })) === true
  }

  async setWebhooks(webhooks: WebhookTerms[]): Promise<void> {
    await this.#write({ do: 'webhooks', webhooks })
  }

  async webhookTold(told: WebhookTold): Promise<void> {
    await this.#write({ do: 'webhook-told', told })
  }

  async webhookFailed(failed: WebhookFailed): Promise<void> {
    await this.#write({ do: 'webhook-failed', failed })
  }

  async pauseWebhook(id: string, paused: boolean): Promise<void> {
    await this.#write({ do: 'pause-webhook', id, paused })
  }

  close(): Promise<void> {
    this.#closed ??= this.#finish()
    return this.#closed
  }

  async #finish(): Promise<void> {
    if (this.#inFlight || this.#queue.length > 0) await new Promise<void>(resolve => (this.#closing = resolve))
    const worker = this.#worker
    if (worker) {
      this.#worker = undefined
      const gone = new Promise(resolve => worker.once('exit', resolve))
      worker.postMessage('close')
      await gone
    }
    this.#db.close()
  }

  #write(write: Write): Promise<WriteResult> {
    if (this.#closed) return Promise.reject(fault('shutting_down'))
    if (this.#queued > QUEUE_CHARACTERS) return Promise.reject(fault('overloaded'))
    return new Promise((resolve, reject) => {
      const size = sizeOf(write)
      this.#queued += size
      this.#queue.push({ write, size, resolve, reject })
      if (this.#pumping) return
      this.#pumping = true
      queueMicrotask(() => this.#pump())
    })
  }

  #pump(): void {
    this.#pumping = false
    if (this.#inFlight) return
    if (this.#queue.length === 0) {
      this.#closing?.()
      return
    }
    this.#inFlight = this.#queue.splice(0, GROUP_WRITES)
    this.#worker ??= this.#startWorker()
    this.#worker.postMessage(this.#inFlight.map(({ write }) => write))
  }

  #settle(reply: WriterReply): void {
    const group = this.#inFlight ?? []
    this.#inFlight = undefined
    for (const { size } of group) this.#queued -= size
    if ('failed' in reply) {
      this.#onFailure?.(reply.reason)
      for (const { reject } of group) reject(fault(reply.failed))
    } else {
      group.forEach(({ resolve }, i) => {
        resolve(reply.results[i]!)
      })
    }
    this.#pump()
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./writer.ts', import.meta.url), { workerData: this.#data, name: 'writer' })
    worker.on('message', reply => this.#settle(reply))
    worker.on('error', (error: Error) => {
      this.#worker = undefined
      this.#settle({ failed: 'storage_failed', reason: error.message })
    })
    return worker
  }

  /** Removes what deleted conversations left behind, slice by slice between the writes that somebody waits for. */
  async #purge(): Promise<void> {
    try {
      while (await this.#write({ do: 'purge' }));
    } catch {
      // The disk is full or the server stops: the next start goes on.
    }
  }
}

function settled(result: WriteResult, what: string): boolean {
  if (result === 'conflict') throw fault('conflict', what)
  return result === true
}

function told(result: WriteResult): number {
  if (typeof result !== 'number') throw fault('conflict', 'The log of commands')
  return result
}

/** Roughly: all the text that a write carries. */
function sizeOf(write: Write): number {
  const texts: string[] = []
  const {
    events = [],
    state = '',
    parts = {},
  } = write.do === 'create'
    ? { ...write.conversation, events: write.events }
    : write.do === 'append'
      ? write.append
      : {}
  texts.push(state, ...Object.values(parts), ...events.flatMap(({ json, text = '' }) => [json, text]))
  if (write.do === 'document') texts.push(write.json)
  if (write.do === 'start-task') texts.push(write.row.json, write.row.order)
  if (write.do === 'pending') texts.push(write.row.json)
  if (write.do === 'delete') texts.push(write.farewell ?? '')
  if (write.do === 'bash') texts.push(...write.append.events.map(({ json }) => json))
  return texts.reduce((sum, text) => sum + text.length, 1)
}
