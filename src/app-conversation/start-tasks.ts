import type { AppConversationStartRequest } from '../api/app-conversations.ts'
import { Fault, fault } from '../api/errors.ts'
import { now } from '../lib/time.ts'
import type { Vault } from '../policy/secrets.ts'
import type { StartTaskFilter, Store } from '../store/store.ts'
import {
  digestOf,
  fromRow,
  newStartTask,
  type Ordering,
  type StartOrder,
  type StartRecord,
  type StartTask,
  toRow,
} from './start-task.ts'

/** A page is cut short rather than made larger: orders carry pictures. */
const PAGE_CHARACTERS = 16 * 1024 * 1024

/** Told of every change, after it is durable. Must not throw. */
type Watcher = (task: StartTask) => void

/** The durable records of starts, and who watches them. */
export class StartTasks {
  readonly #store: Store
  readonly #vault: Vault
  readonly #watchers = new Map<string, Set<Watcher>>()

  constructor(store: Store, vault: Vault) {
    this.#store = store
    this.#vault = vault
  }

  /** Puts an order on record, or finds what was made of the same one: under the same key nothing is ordered twice. */
  async take(order: StartOrder, { key, trusted }: Ordering): Promise<{ task: StartTask; isNew: boolean }> {
    const { sent } = order
    const known = await this.known(sent, key)
    if (known) return { task: known, isNew: false }
    const task = newStartTask(order, { key: nameOf(sent, key), trusted }, this.#vault)
    try {
      await this.#store.writeStartTask(toRow(task))
    } catch (error) {
      const faster = isConflict(error) ? await this.known(sent, key) : undefined
      if (!faster) throw error
      return { task: faster, isNew: false }
    }
    return { task: { ...task, version: 1 }, isNew: true }
  }

  /** What was made of the same order. Refused when the key stands for another one. */
  async known(sent: AppConversationStartRequest, key: string | null): Promise<StartTask | undefined> {
    const name = nameOf(sent, key)
    const row = name === null ? undefined : await this.#store.startTaskByKey(name)
    if (!row) return undefined
    const task = fromRow(row)
    if (task.record.digest !== digestOf(sent, this.#vault)) throw fault('start_key_taken')
    return task
  }

  /** Durable, then told. Only the one who carries a start out may call it. */
  async change(task: StartTask, change: Partial<StartRecord>): Promise<StartTask> {
    const record = { ...task.record, ...change }
    // Somebody who chose the id and failed may try again.
    const key = record.status === 'ERROR' && task.key === keyOf(task.conversation) ? null : task.key
    const next: StartTask = { ...task, record, key, updatedAt: Math.max(now(), task.updatedAt + 1) }
    await this.#store.writeStartTask(toRow(next))
    const written = { ...next, version: next.version + 1 }
    for (const watcher of this.#watchers.get(task.id) ?? []) watcher(written)
    return written
  }

  /** Returns the function that ends it. */
  watch(id: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.getOrInsertComputed(id, () => new Set())
    watchers.add(watcher)
    return () => {
      watchers.delete(watcher)
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id)
    }
  }

  async batch(ids: string[]): Promise<(StartTask | undefined)[]> {
    const rows = await this.#store.startTasks(ids)
    return rows.map(row => row && fromRow(row))
  }

  async get(id: string): Promise<StartTask> {
    const [task] = await this.batch([id])
    if (!task) throw fault('start_task_not_found', id)
    return task
  }

  async of(conversation: string): Promise<StartTask | undefined> {
    const row = await this.#store.startTaskOf(conversation)
    return row && fromRow(row)
  }

  async open(): Promise<StartTask[]> {
    return (await this.#store.openStartTasks()).map(fromRow)
  }

  async search(filter: StartTaskFilter, page: { from: string | null; limit: number; descending: boolean }) {
    const { from, ...rest } = page
    const query = { ...filter, ...rest, ...(from && { from }), characters: PAGE_CHARACTERS }
    const { items, next } = await this.#store.searchStartTasks(query)
    return { tasks: items.map(fromRow), next: next ?? null }
  }

  count(filter: StartTaskFilter): Promise<number> {
    return this.#store.countStartTasks(filter)
  }
}

/** What a caller calls an order by: a key, or the id they chose. */
const nameOf = ({ conversation_id: id }: AppConversationStartRequest, key: string | null): string | null =>
  key !== null ? `key ${key}` : id && keyOf(id)

const keyOf = (conversation: string): string => `conversation ${conversation}`

const isConflict = (error: unknown): boolean => error instanceof Fault && error.code === 'conflict'
