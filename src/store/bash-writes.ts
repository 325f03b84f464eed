import { checksum, type Statements } from './database.ts'
import type { BashAppend } from './store.ts'

/** Events let go of by one append: more than it adds, and short enough to go unnoticed. */
const TRIM_EVENTS = 100

/** Writes to the logs of commands, each inside the transaction that the caller has open. */
export class BashWrites {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** The position of the last. */
  append({ sandbox, events, keep }: BashAppend): number {
    const log = this.#sql.get<{ head: number }>(
      `INSERT INTO bash_logs (sandbox, head, events, characters) VALUES (?1, ?2, ?2, ?3)
       ON CONFLICT (sandbox) DO UPDATE SET head = head + ?2, events = events + ?2, characters = characters + ?3
       RETURNING head`,
      ...[sandbox, events.length, events.reduce((sum, { json }) => sum + json.length, 0)],
    )
    const head = log?.head ?? 0
    events.forEach(({ id, kind, command, order, at, json, last }, i) => {
      const running = kind === 'BashCommand' ? 1 : 0
      this.#sql.run(
        `INSERT INTO bash_events (sandbox, seq, id, command, kind, place, at, running, last, characters, crc, json)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[sandbox, head - events.length + 1 + i, id, command, kind, order, at, running, last ? 1 : 0],
        ...[json.length, checksum(json), json],
      )
      if (last) this.#sql.run('UPDATE bash_events SET running = 0 WHERE id = ?', command)
    })
    this.#trim(sandbox, keep)
    return head
  }

  /** How many were removed. */
  clear(sandbox: string): number {
    const removed = this.#sql.run(
      `DELETE FROM bash_events WHERE sandbox = ?1
         AND command NOT IN (SELECT id FROM bash_events WHERE running = 1 AND sandbox = ?1)`,
      sandbox,
    )
    this.#sql.run(
      `UPDATE bash_logs SET (events, characters) =
         (SELECT count(*), coalesce(sum(characters), 0) FROM bash_events WHERE sandbox = ?1)
       WHERE sandbox = ?1`,
      sandbox,
    )
    return removed
  }

  #trim(sandbox: string, keep: BashAppend['keep']): void {
    const log = this.#sql.get<{ events: number; characters: number }>(
      'SELECT events, characters FROM bash_logs WHERE sandbox = ?',
      sandbox,
    )
    if (!log) return
    let { events, characters } = log
    const oldest = this.#sql.all<{ seq: number; at: number; characters: number }>(
      `SELECT seq, at, characters FROM bash_events WHERE sandbox = ? AND running = 0 ORDER BY seq LIMIT ${TRIM_EVENTS}`,
      sandbox,
    )
    for (const event of oldest) {
      if (events <= keep.events && characters <= keep.characters && event.at >= keep.since) break
      this.#sql.run('DELETE FROM bash_events WHERE sandbox = ? AND seq = ?', sandbox, event.seq)
      events -= 1
      characters -= event.characters
    }
    if (events !== log.events)
      this.#sql.run('UPDATE bash_logs SET events = ?, characters = ? WHERE sandbox = ?', events, characters, sandbox)
  }
}
