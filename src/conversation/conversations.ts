import { type AnyAgent, agentFromSettings } from '../api/agent.ts'
import type { ConversationInfo, StartConversationRequest } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import type { Event, SendMessageRequest } from '../api/events.ts'
import { canonicalUuid, hexUuid, newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { now } from '../lib/time.ts'
import type { Vault } from '../policy/secrets.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { ConversationQuery, ConversationRecord, Store } from '../store/store.ts'
import * as commands from './conversation.ts'
import { place } from './draft.ts'
import type { Feed } from './feed.ts'
import { snapshot, toInfo, type Whole } from './info.ts'
import { encode, type Journal } from './journal.ts'
import { type KeyCheck, makeOrder, type Order } from './order.ts'
import type { Runner } from './runner.ts'
import { initialState } from './state.ts'

export interface ConversationsParts {
  store: Store
  journal: Journal
  feed: Feed
  runner: Runner
  vault: Vault
  log: Log
  /** Rejects when a conversation cannot work in this folder. */
  checkFolder(folder: string, sandbox: string): Promise<void>
}

/** All conversations: start, find, describe, talk to, delete. */
export class Conversations {
  readonly #parts: ConversationsParts

  constructor(parts: ConversationsParts) {
    this.#parts = parts
  }

  /** Starts a conversation, or finds the one that has this id already. */
  async start(
    request: StartConversationRequest,
    isKey: KeyCheck,
    includeSkills: boolean,
    sandbox = DEFAULT_SANDBOX,
  ): Promise<{ info: ConversationInfo; created: boolean }> {
    const { store, vault, runner, checkFolder } = this.#parts
    const id = request.conversation_id ?? newId()
    const [existing] = await store.conversations([id])
    if (existing) {
      // An id is taken, whoever's it is; but only its own are shown what it stands for.
      if (placeOf(existing) !== sandbox && sandbox !== DEFAULT_SANDBOX) throw fault('conversation_not_found', id)
      return { info: await this.get(id, includeSkills), created: false }
    }
    await checkFolder(request.workspace.working_dir, sandbox)
    const { order, skills } = makeOrder(request, chosenAgent(request), vault, isKey)
    await this.#checkParent(request, id, order)

    const createdAt = now()
    const begun = initialState({ ...order.begun, last_event_at: createdAt })
    const first = request.initial_message && commands.message(begun, request.initial_message).drafts
    const { events, state } = place(begun, first ?? [])
    const created = await store.createConversation(
      {
        id,
        createdAt,
        updatedAt: state.last_event_at,
        status: state.execution_status,
        title: null,
        parentId: request.parent_conversation_id ?? null,
        sandbox,
        head: events.length,
        state: JSON.stringify(state),
        parts: { order: JSON.stringify(order), skills: JSON.stringify(skills) },
      },
      events.map(encode),
    )
    const info = await this.get(id, includeSkills)
    if (created && first) runner.wake(id)
    return { info, created }
  }

  async get(id: string, includeSkills = false, scope?: string): Promise<ConversationInfo> {
    const [info] = await this.#infos([await this.record(id, scope)], includeSkills)
    if (!info) throw fault('record_damaged', `The conversation ${id}`)
    return info
  }

  /** Aligned with `ids`; null for those that do not exist. */
  async batch(ids: string[], includeSkills = false, scope?: string): Promise<(ConversationInfo | null)[]> {
    const records = await this.#parts.store.conversations(ids)
    const found = await this.#infos(
      records.filter(record => record !== undefined && isWithin(record, scope)) as ConversationRecord[],
      includeSkills,
    )
    const byId = new Map(found.map(info => [info.id, info]))
    return ids.map(id => byId.get(id) ?? null)
  }

  async search(query: Omit<ConversationQuery, 'from'> & { pageId?: string | null }, includeSkills = false) {
    const { pageId, ...rest } = query
    const from = pageId ? canonicalUuid(pageId) : undefined
    const page = await this.#parts.store.searchConversations({ ...rest, ...(from && { from }) })
    return {
      items: await this.#infos(page.items, includeSkills),
      next_page_id: page.next ? hexUuid(page.next) : null,
    }
  }

  count(status: string | undefined, sandbox?: string): Promise<number> {
    return this.#parts.store.countConversations({ ...(status && { status }), ...(sandbox && { sandbox }) })
  }

  async describe(id: string, given: { title?: string | null; tags?: Record<string, string> | null }): Promise<void> {
    await this.#parts.journal.transact(id, ({ state }) => commands.describe(state, given))
  }

  async delete(id: string): Promise<void> {
    const { store, feed } = this.#parts
    if (!(await store.deleteConversation(id))) throw fault('conversation_not_found', id)
    feed.deleted(id)
  }

  async send(id: string, message: Pick<SendMessageRequest, 'role' | 'content' | 'run'>): Promise<void> {
    const { journal, runner } = this.#parts
    await journal.transact(id, ({ state }) => commands.message(state, message))
    if (message.run) runner.wake(id)
  }

  /** Starts a run; a second call while one is going is refused. */
  run(id: string): Promise<void> {
    return this.#parts.runner.start(id)
  }

  /** To those confined to a sandbox, a conversation elsewhere does not exist. */
  async record(id: string, scope?: string): Promise<ConversationRecord> {
    const [record] = await this.#parts.store.conversations([id])
    if (!record || !isWithin(record, scope)) throw fault('conversation_not_found', id)
    return record
  }

  async snapshot(id: string): Promise<Event | undefined> {
    const [record] = await this.#parts.store.conversations([id])
    const [whole] = record ? await this.#wholes([record], true) : []
    return whole && snapshot(whole)
  }

  async #checkParent(request: StartConversationRequest, id: string, order: Order): Promise<void> {
    const parentId = request.parent_conversation_id
    if (!parentId) return
    if (parentId === id) throw fault('invalid_request', 'A conversation cannot be its own parent')
    const [parent] = await this.batch([parentId])
    if (!parent) throw fault('invalid_request', `The parent conversation ${parentId} does not exist`)
    if (parent.workspace.working_dir !== order.workspace.working_dir)
      throw fault('invalid_request', 'A conversation shares the working directory of its parent')
  }

  async #infos(records: ConversationRecord[], includeSkills: boolean): Promise<ConversationInfo[]> {
    return (await this.#wholes(records, includeSkills)).map(toInfo)
  }

  /** Leaves out what cannot be read from disk, and says so in the log. */
  async #wholes(records: ConversationRecord[], includeSkills: boolean): Promise<Whole[]> {
    const { store, journal, log } = this.#parts
    const names = includeSkills ? ['order', 'skills'] : ['order']
    const parts = await store.conversationParts(
      records.map(({ no }) => no),
      names,
    )
    const children = await store.childrenOf(records.map(({ id }) => id))
    const wholes: Whole[] = []
    for (const [i, record] of records.entries()) {
      const { order, skills } = parts[i]!
      if (order === undefined) {
        log.error('damaged', { conversation: record.id, what: 'order' })
        continue
      }
      wholes.push({
        record,
        state: await journal.stateOf(record),
        order: JSON.parse(order),
        ...(skills && { skills: JSON.parse(skills) }),
        children: children.get(record.id) ?? [],
      })
    }
    return wholes
  }
}

function chosenAgent(request: StartConversationRequest): AnyAgent {
  if (request.agent_profile_id) throw fault('agent_profile_not_found', request.agent_profile_id)
  if (request.agent) return request.agent
  if (request.agent_settings) return agentFromSettings(request.agent_settings)
  throw fault('invalid_request', 'One of agent, agent_settings and agent_profile_id is needed')
}

/** Those older than sandboxes are in the default one. */
const placeOf = ({ sandbox }: ConversationRecord): string => sandbox ?? DEFAULT_SANDBOX
const isWithin = (record: ConversationRecord, scope: string | undefined): boolean =>
  scope === undefined || placeOf(record) === scope
