import type { DatabaseSync } from 'node:sqlite'
import type { Micros } from '../lib/time.ts'
import { BashReads } from './bash-reads.ts'
import { Conditions, checksum, Statements, type Value } from './database.ts'
import { StartReads } from './start-reads.ts'
import type {
  BashQuery,
  BashRecord,
  ConversationFilter,
  ConversationQuery,
  ConversationRecord,
  EventFilter,
  EventQuery,
  EventRecord,
  Owed,
  PendingRow,
  SandboxRow,
  StartTaskFilter,
  StartTaskQuery,
  StartTaskRow,
  StoredDocument,
  WebhookDebt,
  WebhookRecord,
} from './store.ts'
import { WebhookReads } from './webhook-reads.ts'

interface ConversationRow extends ConversationRecord {
  crc: number
}

const CONVERSATION = `no, id, created_at AS createdAt, updated_at AS updatedAt, status, title,
  parent_id AS parentId, sandbox, head, state, crc`
const EVENT = 'seq, id, kind, source, at, json, crc'
type EventColumns = [number, string, string, string, Micros, string, number]

/** The reading half of the embedded store. Async by the port's promise, though SQLite answers at once. */
export class Reads {
  readonly #sql: Statements
  readonly #bash: BashReads
  readonly #start: StartReads
  readonly #webhooks: WebhookReads

  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db)
    this.#bash = new BashReads(this.#sql)
    this.#start = new StartReads(this.#sql)
    this.#webhooks = new WebhookReads(this.#sql)
  }

  async conversations(ids: string[]): Promise<(ConversationRecord | undefined)[]> {
    return ids.map(id => {
      const row = this.#sql.get<ConversationRow>(`SELECT ${CONVERSATION} FROM conversations WHERE id = ?`, id)
      return row && conversation(row)
    })
  }

  async conversationParts(nos: number[], names: string[]): Promise<Record<string, string>[]> {
    return nos.map(no => {
      const parts: Record<string, string> = {}
      for (const name of names) {
        const row = this.#sql.get<{ json: string; crc: number }>(
          'SELECT json, crc FROM parts WHERE conversation = ? AND name = ?',
          ...[no, name],
        )
        if (row && checksum(row.json) === row.crc) parts[name] = row.json
      }
      return parts
    })
  }

  async searchConversations(query: ConversationQuery) {
    const column = query.order === 'created' ? 'created_at' : 'updated_at'
    const [direction, beyond] = query.descending ? ['DESC', '<='] : ['ASC', '>=']
    const [, at, no] = /^(\d{1,16})\.(\d{1,15})$/.exec(query.from ?? '') ?? []
    const { where, values } = filtered(query).add(
      `(${column}, no) ${beyond} (?, ?)`,
      at && Number(at),
      no && Number(no),
    )
    const rows = this.#sql.all<ConversationRow>(
      `SELECT ${CONVERSATION} FROM conversations ${where}
       ORDER BY ${column} ${direction}, no ${direction} LIMIT ?`,
      ...[...values, query.limit + 1],
    )
    const next = rows[query.limit]
    const nextAt = query.order === 'created' ? next?.createdAt : next?.updatedAt
    return { items: rows.slice(0, query.limit).map(conversation), next: next && `${nextAt}.${next.no}` }
  }

  async countConversations(filter: ConversationFilter = {}): Promise<number> {
    const { where, values } = filtered(filter)
    return this.#count(`SELECT count(*) AS n FROM conversations ${where}`, ...values)
  }

  async childrenOf(ids: string[]): Promise<Map<string, string[]>> {
    const children = new Map<string, string[]>()
    for (const id of ids) {
      const rows = this.#sql.all<{ id: string }>('SELECT id FROM conversations WHERE parent_id = ? ORDER BY no', id)
      if (rows.length > 0)
        children.set(
          id,
          rows.map(row => row.id),
        )
    }
    return children
  }

  async readEvents(query: EventQuery): Promise<EventRecord[]> {
    const { where, values } = conditionsOf(query)
    const sql = `SELECT ${EVENT} FROM events ${where} ORDER BY seq ${query.backward ? 'DESC' : 'ASC'} LIMIT ?`
    const { characters = Number.POSITIVE_INFINITY } = query
    const records: EventRecord[] = []
    let length = 0
    this.#sql.each<EventColumns>(sql, [...values, query.limit], columns => {
      const record = event(columns)
      records.push(record)
      length += record.json.length
      return length < characters
    })
    return records
  }

  async countEvents(query: EventFilter): Promise<number> {
    const { where, values } = conditionsOf(query)
    return this.#count(`SELECT count(*) AS n FROM events ${where}`, ...values)
  }

  async eventsById(no: number, ids: string[]): Promise<(EventRecord | undefined)[]> {
    return ids.map(id => {
      let found: EventRecord | undefined
      this.#sql.each<EventColumns>(
        `SELECT ${EVENT} FROM events WHERE conversation = ? AND id = ?`,
        [no, id],
        columns => {
          found = event(columns)
          return false
        },
      )
      return found
    })
  }

  /** Times strictly increase along a log, so a time is found by halving. */
  async positionAt(no: number, at: Micros): Promise<number> {
    const head = this.#sql.get<{ head: number }>('SELECT head FROM conversations WHERE no = ?', no)?.head ?? 0
    let [low, high] = [1, head + 1]
    while (low < high) {
      const middle = (low + high) >> 1
      const found = this.#sql.get<{ at: number }>(
        'SELECT at FROM events WHERE conversation = ? AND seq = ?',
        no,
        middle,
      )
      if ((found?.at ?? Number.POSITIVE_INFINITY) < at) low = middle + 1
      else high = middle
    }
    return low
  }

  async sandboxes(): Promise<SandboxRow[]> {
    const rows = this.#sql.all<SandboxRow & { crc: number }>(
      'SELECT id, created_at AS createdAt, version, json, crc FROM sandboxes ORDER BY created_at, id',
    )
    return rows.map(({ crc, ...row }) => (checksum(row.json) === crc ? row : { ...row, damaged: true }))
  }

  async startTasks(ids: string[]): Promise<(StartTaskRow | undefined)[]> {
    return this.#start.tasks(ids)
  }

  async startTaskByKey(key: string): Promise<StartTaskRow | undefined> {
    return this.#start.byKey(key)
  }

  async startTaskOf(conversation: string): Promise<StartTaskRow | undefined> {
    return this.#start.byConversation(conversation)
  }

  async openStartTasks(): Promise<StartTaskRow[]> {
    return this.#start.open()
  }

  async searchStartTasks(query: StartTaskQuery) {
    return this.#start.search(query)
  }

  async countStartTasks(filter: StartTaskFilter): Promise<number> {
    return this.#start.count(filter)
  }

  async pendingMessages(conversation: string): Promise<PendingRow[]> {
    return this.#start.pending(conversation)
  }

  async conversationsWithPending(): Promise<string[]> {
    return this.#start.conversationsWithPending()
  }

  async webhooks(): Promise<WebhookRecord[]> {
    return this.#webhooks.all()
  }

  async owed(query: { webhook: string; by: Micros; limit: number }): Promise<Owed[]> {
    return this.#webhooks.owed(query)
  }

  async webhookDebt(webhook: string): Promise<WebhookDebt> {
    return this.#webhooks.debt(webhook)
  }

  async readBash(query: BashQuery): Promise<BashRecord[]> {
    return this.#bash.read(query)
  }

  async bashById(sandbox: string, ids: string[]): Promise<(BashRecord | undefined)[]> {
    return this.#bash.byId(sandbox, ids)
  }

  async bashHead(sandbox: string): Promise<number> {
    return this.#bash.head(sandbox)
  }

  async runningBash(): Promise<BashRecord[]> {
    return this.#bash.running()
  }

  async readDocument(name: string): Promise<StoredDocument> {
    const row = this.#sql.get<{ version: number; json: string; crc: number }>(
      'SELECT version, json, crc FROM documents WHERE name = ?',
      name,
    )
    if (!row) return { version: 0, json: undefined }
    if (checksum(row.json) !== row.crc) return { version: row.version, json: undefined, damaged: true }
    return { version: row.version, json: row.json }
  }

  protected hasPurges(): boolean {
    return this.#sql.get('SELECT 1 FROM purges LIMIT 1') !== undefined
  }

  #count(sql: string, ...values: Value[]): number {
    return this.#sql.get<{ n: number }>(sql, ...values)?.n ?? 0
  }
}

/** A state that is damaged has no tags. */
const TAG = 'CASE WHEN json_valid(state) THEN json_extract(state, ?) END'

const filtered = (filter: ConversationFilter): Conditions => {
  const conditions = new Conditions()
    .add('status = ?', filter.status)
    .add('sandbox = ?', filter.sandbox)
    .add("title LIKE ? ESCAPE '!'", filter.title && `%${filter.title.replaceAll(/[!%_]/g, '!$&')}%`)
    .add('created_at >= ?', filter.createdFrom)
    .add('created_at < ?', filter.createdBefore)
    .add('updated_at >= ?', filter.updatedFrom)
    .add('updated_at < ?', filter.updatedBefore)
  for (const { name, value } of filter.tags ?? [])
    conditions.add(
      `${TAG} ${value === undefined ? 'IS NOT NULL' : '= ?'}`,
      `$.tags."${name}"`,
      ...(value === undefined ? [] : [value]),
    )
  return filter.top ? conditions.add('parent_id IS NULL') : conditions
}

const conditionsOf = (query: EventFilter): Conditions =>
  new Conditions()
    .add('conversation = ?', query.no)
    .add('seq >= ?', query.from)
    .add('seq <= ?', query.to)
    .add('kind = ?', query.kind)
    .add('source = ?', query.source)
    .add('instr(text, ?) > 0', query.text)

function conversation({ crc, ...record }: ConversationRow): ConversationRecord {
  return checksum(record.state) === crc ? record : { ...record, damaged: true }
}

function event([seq, id, kind, source, at, json, crc]: EventColumns): EventRecord {
  const record = { seq, id, kind, source, at, json }
  return checksum(json) === crc ? record : { ...record, damaged: true }
}
