import { Conditions, checksum, type Statements, type Value } from './database.ts'
import type { BashQuery, BashRecord } from './store.ts'

const EVENT = 'sandbox, seq, id, kind, command, place, at, last, json, crc'
type Columns = [string, number, string, BashRecord['kind'], string, number, number, number, string, number]

/** Reads the logs of commands. */
export class BashReads {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  read(query: BashQuery): BashRecord[] {
    const { where, values } = conditionsOf(query)
    const sql = `SELECT ${EVENT} FROM bash_events ${where}
      ORDER BY seq ${query.backward ? 'DESC' : 'ASC'} LIMIT ?`
    return this.#records(sql, [...values, query.limit], query.characters)
  }

  byId(sandbox: string, ids: string[]): (BashRecord | undefined)[] {
    const sql = `SELECT ${EVENT} FROM bash_events WHERE id = ? AND sandbox = ?`
    return ids.map(id => this.#records(sql, [id, sandbox])[0])
  }

  head(sandbox: string): number {
    return this.#sql.get<{ head: number }>('SELECT head FROM bash_logs WHERE sandbox = ?', sandbox)?.head ?? 0
  }

  running(): BashRecord[] {
    return this.#records(`SELECT ${EVENT} FROM bash_events WHERE running = 1 ORDER BY seq`, [])
  }

  #records(sql: string, values: Value[], characters = Number.POSITIVE_INFINITY): BashRecord[] {
    const records: BashRecord[] = []
    let length = 0
    this.#sql.each<Columns>(sql, values, columns => {
      const found = record(columns)
      records.push(found)
      length += found.json.length
      return length < characters
    })
    return records
  }
}

const conditionsOf = (query: BashQuery): Conditions =>
  new Conditions()
    // With the plus sign its index is not considered: that of the command finds less.
    .add(query.command === undefined ? 'sandbox = ?' : '+sandbox = ?', query.sandbox)
    .add('seq >= ?', query.from)
    .add('seq <= ?', query.to)
    .add('kind = ?', query.kind)
    .add('command = ?', query.command)
    .add("(place > ? OR kind = 'BashCommand')", query.afterOrder)
    .add('at >= ?', query.since)
    .add('at < ?', query.until)

function record([sandbox, seq, id, kind, command, order, at, last, json, crc]: Columns): BashRecord {
  const found = { sandbox, seq, id, kind, command, order, at, last: last === 1, json }
  return checksum(json) === crc ? found : { ...found, damaged: true }
}
