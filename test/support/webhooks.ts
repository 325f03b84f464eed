import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationInfo } from '../../src/api/conversations.ts'
import { stateUpdate } from '../../src/api/draft.ts'
import type { Event } from '../../src/api/events.ts'
import type { WebhookInfo } from '../../src/api/webhooks.ts'
import { Events } from '../../src/conversation/events.ts'
import { Feed } from '../../src/conversation/feed.ts'
import { Journal } from '../../src/conversation/journal.ts'
import { initialState } from '../../src/conversation/state.ts'
import { newId } from '../../src/lib/id.ts'
import { makeLog } from '../../src/lib/log.ts'
import { guardedFetch } from '../../src/sandbox/egress/fetch.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { WebhookSpecs } from '../../src/webhooks/spec.ts'
import { Webhooks } from '../../src/webhooks/webhooks.ts'
import { type ServerOptions, TestServer, tempFolder } from './server.ts'
import { until } from './wait.ts'

/** What a webhook is configured with: in a hurry unless told otherwise. */
export const inAHurry = ({ url }: { url: string }, terms: object = {}): object => ({
  base_url: url,
  flush_delay: 0.05,
  retry_delay: 0,
  ...terms,
})

/** A server with webhooks. */
export const startTold = (webhooks: object[], { env, ...options }: ServerOptions = {}): Promise<TestServer> =>
  TestServer.start({ ...options, env: { OH_WEBHOOKS: JSON.stringify(webhooks), ...env } })

/** The only one. */
export async function webhookOf(server: TestServer): Promise<WebhookInfo> {
  const [webhook] = await server.client.listWebhooks()
  return webhook ?? assert.fail('There is no webhook')
}

/** Waits until there is nothing left to tell. */
export async function allTold(server: TestServer, ms?: number): Promise<void> {
  await until('everything is told', async () => (await webhookOf(server)).pending_conversations === 0, ms)
}

/** The whole log, each event with its null fields. */
export async function complete(server: TestServer, conversation_id: string): Promise<Event[]> {
  const params = { conversation_id }
  const { items } = await server.client.searchEvents({ params, query: { limit: 100 } })
  return Promise.all(items.map(({ id }) => server.client.getEvent({ params: { ...params, event_id: id } })))
}

/** Conversations on a disk and those who are told of them: everything but a server and agents. */
export class Told implements AsyncDisposable {
  readonly store: SqliteStore
  readonly webhooks: Webhooks
  /** What was logged. */
  readonly lines: string[]
  readonly #data: string
  readonly #journal: Journal

  static async open(terms: object[], data?: string): Promise<Told> {
    const folder = data ?? (await tempFolder())
    const store = SqliteStore.open(join(folder, 'gantry.db'), { synchronous: 'normal' })
    const told = new Told(store, folder, terms)
    await told.webhooks.open()
    return told
  }

  private constructor(store: SqliteStore, data: string, terms: object[]) {
    this.store = store
    this.lines = []
    this.#data = data
    this.#journal = new Journal(store, new Feed())
    const events = new Events(store)
    this.webhooks = new Webhooks({
      specs: WebhookSpecs.parse(terms),
      key: undefined,
      store,
      info: async id => {
        const [record] = await store.conversations([id])
        return record ? ({ id, title: record.title, execution_status: record.status } as ConversationInfo) : null
      },
      eventsAfter: (...range) => events.after(...range),
      guardedFetch,
      log: makeLog('info', line => this.lines.push(line)),
    })
  }

  /** Starts one with so many events. */
  async start(number = 0, id = newId()): Promise<string> {
    const state = initialState({
      ...{ confirmation_policy: { kind: 'NeverConfirm' }, security_analyzer: null, tags: {}, last_event_at: 1 },
    })
    const made = { status: 'idle', head: 0, state: JSON.stringify(state), parts: {}, title: null, parentId: null }
    await this.store.createConversation({ id, createdAt: 1, updatedAt: 1, sandbox: null, ...made }, [])
    if (number > 0) await this.say(id, number)
    return id
  }

  /** So many events more, in one append. */
  async say(id: string, number = 1): Promise<void> {
    const drafts = Array.from({ length: number }, (_, i) => stateUpdate('news', { i, text: 'x'.repeat(100) }))
    await this.#journal.transact(id, () => ({ drafts }))
  }

  async rename(id: string, title: string): Promise<void> {
    await this.#journal.transact(id, () => ({ title, touches: true }))
  }

  /** The ids of all events of a log. */
  async idsOf(id: string): Promise<string[]> {
    const [record] = await this.store.conversations([id])
    const events = await this.store.readEvents({ no: record!.no, limit: 100_000 })
    return events.map(event => event.id)
  }

  /** Of the only one. */
  async webhook(): Promise<WebhookInfo> {
    return (await this.webhooks.list())[0] ?? assert.fail('There is no webhook')
  }

  async everything(ms?: number): Promise<void> {
    await until('everything is told', async () => (await this.webhook()).pending_conversations === 0, ms)
  }

  /** Stops, and opens again with other webhooks. */
  async reopen(terms: object[]): Promise<Told> {
    await this.close()
    return Told.open(terms, this.#data)
  }

  async close(): Promise<void> {
    await this.webhooks.close()
    await this.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await rm(this.#data, { recursive: true, force: true })
  }
}
