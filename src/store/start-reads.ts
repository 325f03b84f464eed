import { Conditions, checksum, type Statements } from './database.ts'
import type { PendingRow, StartTaskFilter, StartTaskQuery, StartTaskRow } from './store.ts'

const TASK = `id, created_at AS createdAt, updated_at AS updatedAt, version, open, conversation, key, json, crc,
  "order", order_crc AS orderCrc`
const PENDING = 'id, conversation, created_at AS createdAt, json, crc'

type StoredTask = Stored<StartTaskRow> & { orderCrc: number }
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
    return this.#sql.all<StoredTask>(`SELECT ${TASK} FROM start_tasks WHERE open = 1 ORDER BY created_at, id`).map(task)
  }

  search(query: StartTaskQuery): { items: StartTaskRow[]; next: string | undefined } {
    const [, at, id] = /^(\d{1,16})\.([\w-]{1,64})$/.exec(query.from ?? '') ?? []
    const [direction, beyond] = query.descending ? ['DESC', '<='] : ['ASC', '>=']
    const { where, values } = conditionsOf(query).add(`(created_at, id) ${beyond} (?, ?)`, at && Number(at), id)
    const names = this.#sql.all<{ id: string; createdAt: number; size: number }>(
      `SELECT id, created_at AS createdAt, length(json) + length("order") AS size FROM start_tasks ${where}
       ORDER BY created_at ${direction}, id ${direction} LIMIT ?`,
      ...[...values, query.limit + 1],
    )
    const { characters = Number.POSITIVE_INFINITY } = query
    let length = 0
    const fits = names.slice(0, query.limit).filter(({ size }, i) => {
      length += size
      return i === 0 || length <= characters
    })
    const next = names[fits.length]
    return {
      items: this.tasks(fits.map(({ id }) => id)).flatMap(found => found ?? []),
      next: next && `${next.createdAt}.${next.id}`,
    }
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
    const row = this.#sql.get<StoredTask>(`SELECT ${TASK} FROM start_tasks WHERE ${condition} LIMIT 1`, value)
    return row && task(row)
  }
}

const conditionsOf = ({ conversation, createdFrom }: StartTaskFilter): Conditions =>
  new Conditions().add('conversation = ?', conversation).add('created_at >= ?', createdFrom)

function task({ orderCrc, ...row }: StoredTask): StartTaskRow {
  const damaged = checksum(row.order) !== orderCrc && { damaged: true }
  return { ...intact(row), open: row.open === 1, ...damaged } as StartTaskRow
}

function intact<Row extends { json: string }>({ crc, ...row }: Row & { crc: number }): Omit<Row, 'crc'> {
  return checksum(row.json) === crc ? (row as never) : ({ ...row, damaged: true } as never)
}
