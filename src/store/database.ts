import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { fault } from '../api/errors.ts'

export type Synchronous = 'full' | 'normal'

/**
 * The log before the log: pages it may hold before they are copied to their places. Busy pages are written over and
 * over, so the larger it is the more copies are saved; at 32 MB a start after a crash still reads it in a blink.
 */
const WAL_PAGES = 8000

/**
 * `full` waits for the disk at every commit. `normal` survives the death of the process but may lose the last
 * commits when the power fails.
 */
export function openDatabase(file: string, synchronous: Synchronous): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = ${WAL_PAGES}`)
  return db
}

/** Prepared statements by their text, made on first use. */
export class Statements {
  readonly #db: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  prepare(sql: string): StatementSync {
    if (!this.#db.isOpen) throw fault('shutting_down')
    const known = this.#prepared.get(sql)
    if (known) return known
    const statement = this.#db.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }

  get<T>(sql: string, ...values: Value[]): T | undefined {
    return this.prepare(sql).get(...values) as T | undefined
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.prepare(sql).all(...values) as T[]
  }

  /** One row after another, as they are asked for. */
  each<T>(sql: string, ...values: Value[]): Iterable<T> {
    return this.prepare(sql).iterate(...values) as Iterable<T>
  }

  run(sql: string, ...values: Value[]): number {
    return Number(this.prepare(sql).run(...values).changes)
  }
}

export type Value = string | number | null

export const checksum = (json: string): number => crc32(json)
