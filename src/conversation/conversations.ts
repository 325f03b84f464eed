import { unsupportedHooks } from '../agent/hooks.ts'
import { objections } from '../agent/toolbox.ts'
import type { AnyAgent } from '../api/agent.ts'
import type { Content } from '../api/common.ts'
import {
  type ConversationInfo,
  type LaunchedAgentProfile,
  POLICY_UNSAID,
  type StartConversationRequest,
} from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import type { Event, SendMessageRequest } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { now } from '../lib/time.ts'
import { unsupportedAnalyzers } from '../policy/risk.ts'
import type { Vault } from '../policy/secrets.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { ConversationQuery, ConversationRecord, Store } from '../store/store.ts'
import { chosenAgent, type LaunchProfile } from './chosen-agent.ts'
import * as commands from './conversation.ts'
import { place } from './draft.ts'
import { equipped, type LoadPlugins } from './equip.ts'
import type { Feed } from './feed.ts'
import { snapshot, toInfo, type Whole } from './info.ts'
import { type Change, encode, type Journal } from './journal.ts'
import { type KeyCheck, makeOrder, type Order } from './order.ts'
import { type Reception, receive } from './reception.ts'
import type { Runner } from './runner.ts'
import type { SessionOrder } from './session.ts'
import type { Sessions } from './sessions.ts'
import { initialState, isBare } from './state.ts'
import type { Titles } from './titles.ts'

export type Caution = Partial<Pick<StartConversationRequest, 'confirmation_policy' | 'security_analyzer'>>

export interface ConversationsParts {
  store: Store
  journal: Journal
  feed: Feed
  runner: Runner
  vault: Vault
  log: Log
  sessions: Sessions
  titles: Titles
  /** Told before a person's message is taken. */
  heard(id: string): Promise<void>
  /** Told of the sandbox in which there is a conversation less. */
  left(sandbox: string): Promise<void>
  /** What is to be asked for, and who judges it, where an order does not say. */
  caution(): Promise<Caution>
  /** Rejects when a conversation cannot work in this folder. */
  checkFolder(folder: string, sandbox: string): Promise<void>
  launch: LaunchProfile
  loadPlugins: LoadPlugins
  /** A folder for this conversation alone, where it was to work in a repository; null where it was not. */
  worktree(sandbox: string, folder: string, id: string): Promise<{ workingDir: string; branch: string } | null>
}

/** What is kept of a conversation from its first moment, beside what was ordered. */
export interface Beside {
  title?: string | null
  /** The agent profile that the order was made of. */
  launched?: LaunchedAgentProfile
  /** Named JSON parts. */
  parts?: Record<string, string>
}

interface Opening {
  message: SendMessageRequest | null
}

/** What a message waits for ends by itself. */
const NEVER = new AbortController().signal

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
    beside: Beside = {},
  ): Promise<{ info: ConversationInfo; created: boolean }> {
    const { store, vault, checkFolder, caution, launch, loadPlugins } = this.#parts
    const id = request.conversation_id ?? newId()
    const [existing] = await store.conversations([id])
    if (existing) {
      // An id is taken, whoever's it is; but only its own are shown what it stands for.
      if (placeOf(existing) !== sandbox && sandbox !== DEFAULT_SANDBOX) throw fault('conversation_not_found', id)
      return { info: await this.get(id, includeSkills), created: false }
    }
    await checkFolder(request.workspace.working_dir, sandbox)
    const { agent, launched = beside.launched } = await chosenAgent(request, isKey(undefined), launch)
    refuseWhatCannotBe(request, agent)
    const cautious = request.confirmation_policy === POLICY_UNSAID ? { ...request, ...(await caution()) } : request
    const plugins = await loadPlugins(request.plugins ?? [], { sandbox, egress: request.egress })
    const whole = equipped(cautious, agent, plugins)
    const { order: made, skills } = makeOrder(whole.request, whole.agent, vault, isKey)
    const order = launched ? { ...made, launched } : made
    await this.#checkParent(request, id, order)
    const settled = request.worktree && !request.parent_conversation_id ? await this.#apart(id, sandbox, order) : order

    const parentId = request.parent_conversation_id ?? null
    // It runs, whatever it says itself.
    const message = request.initial_message && { ...request.initial_message, run: true }
    const created = await this.#begin({ id, sandbox, order: settled, skills }, { parentId, message, ...beside })
    return { info: await this.get(id, includeSkills), created }
  }

  /** Starts a conversation for another one, where that one is. `orderOf` is given the order of that one, as it is by now. */
  async startChild(parent: ConversationRecord, orderOf: (order: Order) => Order, prompt: string): Promise<string> {
    const id = newId()
    const [parts] = await this.#parts.store.conversationParts([parent.no], ['order', 'skills'])
    if (!parts?.order) throw fault('record_damaged', `The conversation ${parent.id}`)
    const skills = JSON.parse(parts.skills ?? '[]')
    const content = [{ type: 'text' as const, text: prompt, cache_prompt: false }]
    await this.#begin(
      { id, sandbox: placeOf(parent), order: orderOf(JSON.parse(parts.order)), skills },
      { parentId: parent.id, message: { role: 'user', content, run: true } },
    )
    return id
  }

  /** False when there is one with this id. */
  async #begin(
    ordered: Omit<SessionOrder, 'tools'>,
    { parentId, message, title = null, parts = {} }: Beside & Pick<ConversationRecord, 'parentId'> & Opening,
  ): Promise<boolean> {
    const { store, runner, sessions, titles } = this.#parts
    const { id, sandbox, order, skills } = ordered
    if (message) sessions.begin(ordered)
    const reception = message && (await this.#receive(id, message.content, true))
    const createdAt = now()
    const begun = initialState({ ...order.begun, last_event_at: createdAt })
    const change: Change = message && reception ? commands.message(begun, message, reception) : {}
    const { events, state: folded } = place(begun, change.drafts ?? [])
    const state = { ...folded, ...change.also?.(folded) }
    const created = await store.createConversation(
      {
        id,
        createdAt,
        updatedAt: state.last_event_at,
        status: state.execution_status,
        title,
        parentId,
        sandbox,
        head: events.length,
        state: JSON.stringify(state),
        parts: { ...parts, order: JSON.stringify(order), skills: JSON.stringify(skills) },
      },
      events.map(encode),
    )
    if (created && state.execution_status === 'running') await runner.wake(id)
    if (created && message) titles.make(id, order, textOf(message.content))
    return created
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
    const page = await this.#parts.store.searchConversations({ ...rest, ...(pageId && { from: pageId }) })
    return {
      items: await this.#infos(page.items, includeSkills),
      next_page_id: page.next ?? null,
    }
  }

  count(status: string | undefined, sandbox?: string): Promise<number> {
    return this.#parts.store.countConversations({ ...(status && { status }), ...(sandbox && { sandbox }) })
  }

  async describe(id: string, given: { title?: string | null; tags?: Record<string, string> | null }): Promise<void> {
    await this.#parts.journal.transact(id, ({ state }) => commands.describe(state, given))
  }

  async delete(id: string): Promise<void> {
    const { store, journal, feed, runner, sessions, left } = this.#parts
    const record = await this.record(id)
    await runner.abandon(id)
    journal.forget(id)
    if (!(await store.deleteConversation(id, await this.#farewell(id)))) throw fault('conversation_not_found', id)
    feed.deleted(id)
    await sessions.forget(record)
    await left(placeOf(record))
  }

  async send(
    id: string,
    message: Pick<SendMessageRequest, 'role' | 'content' | 'run'>,
    /** `event`: the id it is to have in the log. */
    { by = 'person', event }: { by?: 'person' | 'goal'; event?: string } = {},
  ): Promise<void> {
    if (by === 'person') await this.#parts.heard(id)
    const { journal, runner, sessions, titles } = this.#parts
    const view = await journal.view(id)
    if (!view) throw fault('conversation_not_found', id)
    const reception = await this.#receive(id, message.content, isBare(view.state))
    await journal.transact(id, ({ state }) => commands.message(state, message, reception, event))
    if (message.run && reception.blocked === undefined) await runner.wake(id)
    const { title } = view.record
    if (title === null && view.state.last_user_message_id === null)
      await sessions.with(id, async ({ order }) => titles.make(id, order, textOf(message.content)))
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

  #receive(id: string, content: readonly Content[], isFirst: boolean): Promise<Reception> {
    return this.#parts.sessions.with(id, session => receive(session, content, isFirst, NEVER))
  }

  /** The last that webhooks are told of a conversation: by its id alone where no more of it can be read. */
  async #farewell(id: string): Promise<string> {
    const [info] = await this.batch([id], true).catch(() => [])
    return JSON.stringify({ ...(info ?? { id }), execution_status: 'deleting', sub_conversation_ids: [] })
  }

  /** In a worktree of its own, and told so. */
  async #apart(id: string, sandbox: string, order: Order): Promise<Order> {
    const made = await this.#parts.worktree(sandbox, order.workspace.working_dir, id)
    if (!made) return order
    const said = order.options.agent_launch_additions?.system_message_suffix_append
    const told = `You work in a worktree of your own, on the branch ${made.branch}: commit there.`
    const additions = { system_message_suffix_append: [said, told].filter(Boolean).join('\n\n') }
    return {
      ...order,
      workspace: { ...order.workspace, working_dir: made.workingDir },
      options: { ...order.options, agent_launch_additions: additions },
    }
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

const textOf = (content: readonly Content[]): string =>
  content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')

/** What nobody could do is said by name, before anything is on record. */
function refuseWhatCannotBe(request: StartConversationRequest, agent: AnyAgent): void {
  const reasons = [
    ...objections(agent),
    ...(request.hook_config ? unsupportedHooks(request.hook_config) : []),
    ...unsupportedAnalyzers(request.security_analyzer).map(kind => `the security analyzer '${kind}' is not available`),
  ]
  if (reasons.length > 0) throw fault('invalid_request', `This cannot be done here: ${reasons.join('; ')}`)
}

/** Those older than sandboxes are in the default one. */
const placeOf = ({ sandbox }: ConversationRecord): string => sandbox ?? DEFAULT_SANDBOX
const isWithin = (record: ConversationRecord, scope: string | undefined): boolean =>
  scope === undefined || placeOf(record) === scope
