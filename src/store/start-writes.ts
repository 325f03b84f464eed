import { checksum, type Statements } from './database.ts'
import type { PendingRow, StartTaskRow } from './store.ts'

/** Finished tasks are kept for those who come back for them, and then no longer. */
const KEPT_MICROS = 30 * 24 * 3600 * 1_000_000
/** Removed with each new one: more than come, so that they never pile up, and few enough to go unnoticed. */
const PRUNED = 5

/** Writes what is being started, and what waits to be said. */
export class StartWrites {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  task({ id, createdAt, updatedAt, version, open, conversation, key, json, order }: StartTaskRow): true | 'conflict' {
    if (version > 0) {
      const written = this.#sql.run(
        `UPDATE start_tasks SET updated_at = ?, version = version + 1, open = ?, key = ?, json = ?, crc = ?
         WHERE id = ? AND version = ?`,
        ...[updatedAt, open ? 1 : 0, key, json, checksum(json), id, version],
      )
      if (written === 0) return 'conflict'
      this.#sql.run(
        'UPDATE start_tasks SET "order" = ?1, order_crc = ?2 WHERE id = ?3 AND order_crc <> ?2',
        ...[order, checksum(order), id],
      )
      return true
    }
    const old = this.#sql.all<{ conversation: string }>(
      `DELETE FROM start_tasks WHERE id IN
         (SELECT id FROM start_tasks WHERE open = 0 AND created_at < ? ORDER BY created_at LIMIT ${PRUNED})
       RETURNING conversation`,
      createdAt - KEPT_MICROS,
    )
    // What waited for a start that failed.
    for (const { conversation } of old)
      this.#sql.run(
        `DELETE FROM pending_messages WHERE conversation = ?1 AND NOT EXISTS (SELECT 1 FROM conversations WHERE id = ?1)`,
        conversation,
      )
    const written = this.#sql.run(
      `INSERT INTO start_tasks (id, created_at, updated_at, version, open, conversation, key, json, crc, "order", order_crc)
       VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ...[id, createdAt, updatedAt, open ? 1 : 0, conversation, key, json, checksum(json), order, checksum(order)],
    )
    return written === 1 || 'conflict'
  }

  /** Its place among those that wait, from 1; 0 when `limit` are waiting already. The same one again keeps its place. */
  addPending({ id, conversation, createdAt, json }: PendingRow, limit: number): number {
    const waiting = this.#sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM pending_messages WHERE conversation = ?',
      conversation,
    )
    const place = (waiting?.n ?? 0) + 1
    if (place > limit) return 0
    this.#sql.run(
      'INSERT INTO pending_messages (id, conversation, created_at, json, crc) VALUES (?, ?, ?, ?, ?)',
      ...[id, conversation, createdAt, json, checksum(json)],
    )
    return place
  }

  /** What is left of a conversation that is gone. */
  forget(conversation: string): void {
    this.#sql.run('DELETE FROM start_tasks WHERE conversation = ? AND open = 0', conversation)
    this.#sql.run('DELETE FROM pending_messages WHERE conversation = ?', conversation)
  }
}
