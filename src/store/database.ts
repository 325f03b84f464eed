import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { fault } from '../api/errors.ts'

export type Synchronous = 'full' | 'normal'

/**
 * The log before the log: pages it may hold before they are copied to their places. Busy pages are written over and
 * over, so the larger it is the more copies are saved. At 16 MB a start after a crash reads it in a blink, and so much
 * room is not much to ask of a disk.
 */
const WAL_PAGES = 4000

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
    return legibly(() => this.prepare(sql).get(...values) as T | undefined)
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return legibly(() => this.prepare(sql).all(...values) as T[])
  }

  /**
   * Shows one row after another, as a list of its columns, until `more` says that it has enough. A statement that is not
   * read to its end must be let go: until then everything read on this connection would be of that moment. `for … of`
   * does it. (Lists take half the time of objects, and this is how logs are read.)
   */
  each<Row extends Value[]>(sql: string, values: Value[], more: (row: Row) => boolean): void {
    legibly(() => {
      const statement = this.prepare(sql)
      statement.setReturnArrays(true)
      for (const row of statement.iterate(...values) as Iterable<unknown>) if (!more(row as Row)) break
    })
  }

  run(sql: string, ...values: Value[]): number {
    return Number(this.prepare(sql).run(...values).changes)
  }
}

const SQLITE_CORRUPT = 11

function legibly<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw legible(error)
  }
}

/** Damage to the file itself, where no checksum of ours can name the record, is said like any other. */
function legible(error: unknown): unknown {
  const isCorrupt = ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_CORRUPT
  return isCorrupt ? fault('record_damaged', 'A part of the database') : error
}

export type Value = string | number | null

/** What a row must meet, as far as it was asked for. */
export class Conditions {
  readonly texts: string[] = []
  readonly values: Value[] = []

  add(condition: string, ...values: (Value | undefined)[]): this {
    if (values.includes(undefined)) return this
    this.texts.push(condition)
    this.values.push(...(values as Value[]))
    return this
  }

  get where(): string {
    return this.texts.length > 0 ? `WHERE ${this.texts.join(' AND ')}` : ''
  }
}

export const checksum = (json: string): number => crc32(json)
