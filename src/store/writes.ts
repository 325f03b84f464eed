import type { DatabaseSync } from 'node:sqlite'
import { BashWrites } from './bash-writes.ts'
import { checksum, Statements } from './database.ts'
import { StartWrites } from './start-writes.ts'
import type {
  Append,
  BashAppend,
  NewConversation,
  NewEvent,
  PendingRow,
  SandboxRow,
  StartTaskRow,
  WebhookFailed,
  WebhookTerms,
  WebhookTold,
} from './store.ts'
import { WebhookWrites } from './webhook-writes.ts'

/** What the writer can be asked to do. Plain data: it travels to the writer's thread. */
export type Write =
  | { do: 'create'; conversation: NewConversation; events: NewEvent[] }
  | { do: 'append'; append: Append }
  | { do: 'delete'; id: string; farewell: string | undefined }
  | { do: 'purge' }
  | { do: 'probe' }
  | { do: 'document'; name: string; json: string; version: number }
  | { do: 'sandbox'; row: SandboxRow }
  | { do: 'delete-sandbox'; id: string }
  | { do: 'bash'; append: BashAppend }
  | { do: 'clear-bash'; sandbox: string }
  | { do: 'webhooks'; webhooks: WebhookTerms[] }
  | { do: 'webhook-told'; told: WebhookTold }
  | { do: 'webhook-failed'; failed: WebhookFailed }
  | { do: 'pause-webhook'; id: string; paused: boolean }
  | { do: 'start-task'; row: StartTaskRow }
  | { do: 'pending'; row: PendingRow; limit: number }
  | { do: 'delete-pending'; id: string }

/**
 * `false`: it exists already, or there was nothing; `conflict`: somebody was faster. Neither has written anything.
 * A number is what the write was asked to tell.
 */
export type WriteResult = boolean | number | 'conflict'

/** Events removed in one transaction when a deleted conversation is purged: short enough to go unnoticed. */
const PURGE_EVENTS = 500

/** Carries out writes on one connection, each inside the transaction that the caller has open. */
export class Writes {
  readonly #sql: Statements
  readonly #bash: BashWrites
  readonly #webhooks: WebhookWrites
  readonly #start: StartWrites

  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db)
    this.#bash = new BashWrites(this.#sql)
    this.#webhooks = new WebhookWrites(this.#sql)
    this.#start = new StartWrites(this.#sql)
  }

  apply(write: Write): WriteResult {
    switch (write.do) {
      case 'create':
        return this.#create(write.conversation, write.events)
      case 'append':
        return this.#append(write.append)
      case 'delete':
        return this.#delete(write.id, write.farewell)
      case 'purge':
        return this.#purge()
      case 'probe':
        return this.#probe()
      case 'document':
        return this.#document(write.name, write.json, write.version)
      case 'sandbox':
        return this.#sandbox(write.row)
      case 'delete-sandbox':
        return this.#sql.run('DELETE FROM sandboxes WHERE id = ?', write.id) === 1
      case 'bash':
        return this.#bash.append(write.append)
      case 'clear-bash':
        return this.#bash.clear(write.sandbox)
      case 'webhooks':
        return this.#webhooks.set(write.webhooks)
      case 'webhook-told':
        return this.#webhooks.told(write.told)
      case 'webhook-failed':
        return this.#webhooks.failed(write.failed)
      case 'pause-webhook':
        return this.#webhooks.pause(write.id, write.paused)
      case 'start-task':
        return this.#start.task(write.row)
      case 'pending':
        return this.#start.addPending(write.row, write.limit)
      case 'delete-pending':
        return this.#sql.run('DELETE FROM pending_messages WHERE id = ?', write.id) === 1
    }
  }

  #create(c: NewConversation, events: NewEvent[]): WriteResult {
    const row = this.#sql.get<{ no: number }>(
      `INSERT INTO conversations (id, created_at, updated_at, status, title, parent_id, sandbox, head, state, crc)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING no`,
      ...[c.id, c.createdAt, c.updatedAt, c.status, c.title, c.parentId, c.sandbox, c.head, c.state, checksum(c.state)],
    )
    if (!row) return false
    this.#putParts(row.no, c.parts)
    this.#insertEvents(row.no, 0, events)
    this.#webhooks.created(row.no, c.id)
    return true
  }

  #append(append: Append): WriteResult {
    const { no, after, events, head, status, updatedAt, state, title, parts } = append
    this.#webhooks.appended(append)
    const moved = this.#sql.run(
      `UPDATE conversations SET head = ?, status = ?, updated_at = ?, state = ?, crc = ?, title = CASE ? WHEN 1 THEN ? ELSE title END
       WHERE no = ? AND head = ?`,
      ...[head, status, updatedAt, state, checksum(state), title === undefined ? 0 : 1, title ?? null, no, after],
    )
    if (moved === 0) return 'conflict'
    this.#insertEvents(no, after, events)
    if (parts) this.#putParts(no, parts)
    return true
  }

  #delete(id: string, farewell: string | undefined): WriteResult {
    const row = this.#sql.get<{ no: number }>('DELETE FROM conversations WHERE id = ? RETURNING no', id)
    if (!row) return false
    this.#sql.run('DELETE FROM parts WHERE conversation = ?', row.no)
    this.#sql.run('INSERT INTO purges (conversation) VALUES (?)', row.no)
    this.#webhooks.deleted(row.no, id, farewell)
    this.#start.forget(id)
    return true
  }

  /** One slice of the work; true while there is more. */
  #purge(): WriteResult {
    const row = this.#sql.get<{ conversation: number }>('SELECT conversation FROM purges LIMIT 1')
    if (!row) return false
    const removed = this.#sql.run(
      `DELETE FROM events WHERE conversation = ?1 AND seq IN
         (SELECT seq FROM events WHERE conversation = ?1 ORDER BY seq LIMIT ${PURGE_EVENTS})`,
      row.conversation,
    )
    if (removed < PURGE_EVENTS) this.#sql.run('DELETE FROM purges WHERE conversation = ?', row.conversation)
    return true
  }

  #probe(): WriteResult {
    const json = JSON.stringify(Date.now())
    this.#sql.run(
      `INSERT INTO documents (name, version, json, crc) VALUES ('probe', 1, ?1, ?2)
       ON CONFLICT (name) DO UPDATE SET json = ?1, crc = ?2`,
      ...[json, checksum(json)],
    )
    return true
  }

  #document(name: string, json: string, version: number): WriteResult {
    const written =
      version === 0
        ? this.#sql.run(
            'INSERT INTO documents (name, version, json, crc) VALUES (?, 1, ?, ?) ON CONFLICT (name) DO NOTHING',
            ...[name, json, checksum(json)],
          )
        : this.#sql.run(
            'UPDATE documents SET version = version + 1, json = ?, crc = ? WHERE name = ? AND version = ?',
            ...[json, checksum(json), name, version],
          )
    return written === 1 || 'conflict'
  }

  #sandbox({ id, createdAt, version, json }: SandboxRow): WriteResult {
    const written =
      version === 0
        ? this.#sql.run(
            'INSERT INTO sandboxes (id, created_at, version, json, crc) VALUES (?, ?, 1, ?, ?) ON CONFLICT DO NOTHING',
            ...[id, createdAt, json, checksum(json)],
          )
        : this.#sql.run(
            'UPDATE sandboxes SET version = version + 1, json = ?, crc = ? WHERE id = ? AND version = ?',
            ...[json, checksum(json), id, version],
          )
    return written === 1 || 'conflict'
  }

  #putParts(no: number, parts: Record<string, string>): void {
    for (const [name, json] of Object.entries(parts))
      this.#sql.run(
        'INSERT OR REPLACE INTO parts (conversation, name, json, crc) VALUES (?, ?, ?, ?)',
        ...[no, name, json, checksum(json)],
      )
  }

  #insertEvents(no: number, after: number, events: NewEvent[]): void {
    let seq = after
    for (const { id, kind, source, at, json, text } of events) {
      seq += 1
      this.#sql.run(
        'INSERT INTO events (conversation, seq, id, kind, source, at, crc, json, text) VALUES (?,?,?,?,?,?,?,?,?)',
        ...[no, seq, id, kind, source, at, checksum(json), json, text ?? null],
      )
    }
  }
}
