import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

export type Synchronous = 'full' | 'normal'

/**
 * `full` waits for the disk at every commit. `normal` survives the death of the process but may lose the last
 * commits when the power fails.
 */
export function openDatabase(file: string, synchronous: Synchronous): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 5000 })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = OFF`)
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

  run(sql: string, ...values: Value[]): number {
    return Number(this.prepare(sql).run(...values).changes)
  }
}

export type Value = string | number | null

export const checksum = (json: string): number => crc32(json)
