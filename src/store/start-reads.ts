import { Conditions, checksum, type Statements } from './database.ts'
import type { PendingRow, StartTaskFilter, StartTaskQuery, StartTaskRow } from './store.ts'

const TASK = `id, created_at AS createdAt, updated_at AS updatedAt, version, open, conversation, key, json, crc`
const PENDING = 'id, conversation, created_at AS createdAt, json, crc'

type Stored<Row> = Omit<Row, 'open'> & { open?: number; crc: number }

/** Reads what is being started, and what waits to be said. */
export class StartReads {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  tasks(ids: string[]): (StartTaskRow | undefined)[] {
    return ids.map(id => this.#task('id = ?', id))
  }

  byKey(key: string): StartTaskRow | undefined {
    return this.#task('key = ?', key)
  }

  byConversation(conversation: string): StartTaskRow | undefined {
    return this.#task('conversation = ? ORDER BY created_at DESC, id DESC', conversation)
  }

  open(): StartTaskRow[] {
    return this.#sql
      .all<Stored<StartTaskRow>>(`SELECT ${TASK} FROM start_tasks WHERE open = 1 ORDER BY created_at, id`)
      .map(task)
  }

  search(query: StartTaskQuery): StartTaskRow[] {
    const { where, values } = conditionsOf(query)
    const direction = query.descending ? 'DESC' : 'ASC'
    return this.#sql
      .all<Stored<StartTaskRow>>(
        `SELECT ${TASK} FROM start_tasks ${where} ORDER BY created_at ${direction}, id ${direction} LIMIT ? OFFSET ?`,
        ...[...values, query.limit, query.offset],
      )
      .map(task)
  }

  count(filter: StartTaskFilter): number {
    const { where, values } = conditionsOf(filter)
    return this.#sql.get<{ n: number }>(`SELECT count(*) AS n FROM start_tasks ${where}`, ...values)?.n ?? 0
  }

  pending(conversation: string): PendingRow[] {
    return this.#sql
      .all<Stored<PendingRow>>(
        `SELECT ${PENDING} FROM pending_messages WHERE conversation = ? ORDER BY no`,
        conversation,
      )
      .map(intact)
  }

  conversationsWithPending(): string[] {
    return this.#sql
      .all<{ conversation: string }>('SELECT DISTINCT conversation FROM pending_messages')
      .map(({ conversation }) => conversation)
  }

  #task(condition: string, value: string): StartTaskRow | undefined {
    const row = this.#sql.get<Stored<StartTaskRow>>(`SELECT ${TASK} FROM start_tasks WHERE ${condition} LIMIT 1`, value)
    return row && task(row)
  }
}

const conditionsOf = ({ conversation, createdFrom }: StartTaskFilter): Conditions =>
  new Conditions().add('conversation = ?', conversation).add('created_at >= ?', createdFrom)

const task = (row: Stored<StartTaskRow>): StartTaskRow => ({ ...intact(row), open: row.open === 1 }) as StartTaskRow

function intact<Row extends { json: string }>({ crc, ...row }: Row & { crc: number }): Omit<Row, 'crc'> {
  return checksum(row.json) === crc ? (row as never) : ({ ...row, damaged: true } as never)
}
