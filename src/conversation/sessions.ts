import type { Tool } from '../agent/tool.ts'
import { endLeftOvers } from '../agent/tools/terminal/left-overs.ts'
import { fault } from '../api/errors.ts'
import { now } from '../lib/time.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { ConversationRecord, Store } from '../store/store.ts'
import type { Order } from './order.ts'
import { Session, type SessionOrder, type SessionParts } from './session.ts'

export interface SessionsParts extends SessionParts {
  store: Store
  /** Tools that need to know more than one conversation. */
  more(id: string, order: Order): Tool[]
}

/** How long what a conversation has at hand is kept after its last use: a shell, connections, what an editor can undo. */
const IDLE_MS = 20 * 60_000

interface Entry {
  session: Promise<Session>
  /** How many use it just now. */
  users: number
  idle: NodeJS.Timeout | undefined
  /** The order has more by now: it goes with its last user. */
  stale?: true
}

/** What conversations have at hand, made when it is first needed and let go of when it is not. */
export class Sessions {
  readonly #parts: SessionsParts
  readonly #entries = new Map<string, Entry>()
  readonly #since = now()

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  /** Makes that of a conversation which is not on record yet. */
  begin(order: Omit<SessionOrder, 'tools'>): void {
    if (this.#entries.has(order.id)) return
    const session = new Session({ ...order, tools: this.#parts.more(order.id, order.order) }, this.#parts)
    this.#entries.set(order.id, { session: Promise.resolve(session), users: 0, idle: undefined })
  }

  /** Nobody takes it away while `use` goes on. */
  async with<T>(id: string, use: (session: Session) => Promise<T>): Promise<T> {
    const entry = this.#entries.getOrInsertComputed(id, () => ({ session: this.#make(id), users: 0, idle: undefined }))
    clearTimeout(entry.idle)
    entry.users += 1
    try {
      return await use(await entry.session)
    } catch (error) {
      // What could not be made is tried again next time.
      await entry.session.catch(() => this.#entries.delete(id))
      throw error
    } finally {
      entry.users -= 1
      if (entry.users === 0 && entry.stale && this.#entries.get(id) === entry) void this.drop(id)
      else if (entry.users === 0) entry.idle = setTimeout(() => void this.drop(id), IDLE_MS).unref()
    }
  }

  /** Has a session that is there take up a changed order. */
  async adopt(id: string, order: Order): Promise<void> {
    const session = await this.#entries.get(id)?.session.catch(() => undefined)
    session?.adopt(order)
  }

  /** Has it made anew from the order, once nobody uses it. */
  async renew(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry?.users === 0) await this.drop(id)
    else if (entry) entry.stale = true
  }

  async drop(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#entries.delete(id)
    clearTimeout(entry.idle)
    const session = await entry.session.catch(() => undefined)
    await session?.close()
  }

  /** Lets go of it for good, and ends what an earlier server left running of it. */
  async forget({ id, sandbox, createdAt }: ConversationRecord): Promise<void> {
    const { isRunning, reach } = this.#parts
    await this.drop(id)
    const place = sandbox ?? DEFAULT_SANDBOX
    if (createdAt < this.#since && isRunning(place)) await endLeftOvers(await reach(place), id)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map(id => this.drop(id)))
  }

  async #make(id: string): Promise<Session> {
    const { store, more } = this.#parts
    const [record] = await store.conversations([id])
    if (!record) throw fault('conversation_not_found', id)
    const [parts] = await store.conversationParts([record.no], ['order', 'skills'])
    if (!parts?.order) throw fault('record_damaged', `The conversation ${id}`)
    const order: Order = JSON.parse(parts.order)
    const skills = JSON.parse(parts.skills ?? '[]')
    const sandbox = record.sandbox ?? DEFAULT_SANDBOX
    return new Session({ id, sandbox, order, skills, tools: more(id, order) }, this.#parts)
  }
}
