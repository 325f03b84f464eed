import { setTimeout as delay } from 'node:timers/promises'
import { AgentSettings } from '../api/agent.ts'
import { AppConversationStartRequest, type StartStatus, type StartStep } from '../api/app-conversations.ts'
import { Fault, fault } from '../api/errors.ts'
import type { Conversations } from '../conversation/conversations.ts'
import { abortable } from '../lib/abort.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { Turns } from '../lib/turns.ts'
import type { Plugins } from '../library/plugins.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import { DEFAULT_SANDBOX, type Sandbox } from '../sandbox/sandbox.ts'
import type { Sandboxes } from '../sandbox/sandboxes.ts'
import type { AgentProfiles } from '../settings/agent-profiles.ts'
import type { SettingsService } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import { APP, appInfo, inherit, launchTags, readAppInfo } from './app-info.ts'
import { conversationOrder } from './conversation-order.ts'
import type { Lodgings } from './lodgings.ts'
import { meansFor } from './means.ts'
import type { PendingMessages } from './pending.ts'
import type { Preparation } from './preparation.ts'
import { isOver, type Ordering, type StartRecord, type StartTask } from './start-task.ts'
import type { StartTasks } from './start-tasks.ts'

export interface StartsParts {
  store: Store
  tasks: StartTasks
  lodgings: Lodgings
  sandboxes: Sandboxes
  conversations: Conversations
  pending: PendingMessages
  preparation: Preparation
  settings: SettingsService
  plugins: Pick<Plugins, 'check'>
  agentProfiles: AgentProfiles
  vault: Vault
  log: Log
}

/** What a step makes known, and what is to be remembered of it. */
export type Progress = Partial<StartRecord> & { step?: Omit<StartStep, 'status'> }

/** The steps, in order. */
const NEXT: Readonly<Record<StartStatus, StartStatus>> = {
  WORKING: 'WAITING_FOR_SANDBOX',
  WAITING_FOR_SANDBOX: 'PREPARING_REPOSITORY',
  PREPARING_REPOSITORY: 'RUNNING_SETUP_SCRIPT',
  RUNNING_SETUP_SCRIPT: 'SETTING_UP_GIT_HOOKS',
  SETTING_UP_GIT_HOOKS: 'SETTING_UP_SKILLS',
  SETTING_UP_SKILLS: 'STARTING_CONVERSATION',
  STARTING_CONVERSATION: 'READY',
  READY: 'READY',
  ERROR: 'ERROR',
}

/** See means.ts. */
const WITHHELD = {
  outcome: 'done',
  detail: 'Ordered without the key: stored secrets, git tokens and MCP servers are left out',
} as const

/** A disk that was full, or a queue that was, needs a moment. */
const AGAIN_MS = 1_000

const CANCELLED = new Error('The start was cancelled')
const CLOSING = new Error('The server stops')

/**
 * Carries starts out. Each is a durable record that names the step under way; a step may be repeated, also after a crash in the
 * middle of it, and comes to the same. So a start ends in one conversation in one sandbox, or with a reason and neither.
 */
export class Starts {
  readonly #parts: StartsParts
  readonly #jobs = new Map<string, { abort: AbortController; done: Promise<void> }>()
  /** By conversation: whoever would begin or end the start of one waits for who is at it. */
  readonly #turns = new Turns()
  readonly #closing = new AbortController()
  #tidying: Promise<unknown> = Promise.resolve()

  constructor(parts: StartsParts) {
    this.#parts = parts
  }

  /** The task, on record. The same order under the same key is the same task. */
  async begin(sent: AppConversationStartRequest, ordering: Ordering): Promise<StartTask> {
    const { tasks, lodgings, agentProfiles, plugins } = this.#parts
    refuseWhatCannotBe(sent)
    if (sent.plugins) await plugins.check(sent.plugins)
    const conversation = sent.conversation_id ?? newId()
    return this.#turns.take(conversation, async () => {
      const known = await tasks.known(sent, ordering.key)
      if (known) return known
      await this.#checkFree(conversation)
      await agentProfiles.forOrder(sent.agent_profile_id, ordering.trusted)
      const request = await this.#inherit(sent)
      await lodgings.checkRoom(request)
      const { task, isNew } = await tasks.take({ sent, request, conversation }, ordering)
      if (isNew) this.#launch(task)
      return task
    })
  }

  /** Ends a start that is under way; one that is over is left as it is. Resolves when everything made for it is gone. */
  async cancel(id: string): Promise<void> {
    const task = await this.#parts.tasks.get(id)
    if (isOver(task.record)) return
    // It may be on record and not yet launched.
    const job = await this.#turns.take(task.conversation, async () => this.#jobs.get(id))
    job?.abort.abort(CANCELLED)
    await job?.done
  }

  /** The start that would lead to this conversation. False when none is under way. */
  async cancelFor(conversation: string): Promise<boolean> {
    const task = await this.#parts.tasks.of(conversation)
    if (!task || isOver(task.record)) return false
    await this.cancel(task.id)
    return true
  }

  /** Takes up what an earlier server left. Resolves before that is done. */
  async recover(): Promise<void> {
    const { tasks, lodgings, pending, log } = this.#parts
    for (const task of await tasks.open()) this.#launch(task)
    this.#tidying = Promise.all([lodgings.tidy(), pending.recover()]).catch(error =>
      log.error('start', { error: traceOf(error) }),
    )
  }

  /** What is under way is left where it is: the next server goes on with it. */
  async close(): Promise<void> {
    this.#closing.abort()
    const jobs = [...this.#jobs.values()]
    for (const { abort } of jobs) abort.abort(CLOSING)
    await Promise.all([...jobs.map(({ done }) => done), this.#tidying])
  }

  #launch(task: StartTask): void {
    if (this.#closing.signal.aborted) return
    const abort = new AbortController()
    if (task.record.sandbox !== null) this.#parts.lodgings.expect(task.id, task.record.sandbox)
    const done = this.#carryOut(task, abort.signal).finally(() => {
      this.#jobs.delete(task.id)
      return this.#arrived(task.id)
    })
    this.#jobs.set(task.id, { abort, done })
  }

  /** A conversation that is gone already found somebody expected where it was, and left the sandbox to them. Never rejects. */
  async #arrived(id: string): Promise<void> {
    const { lodgings, log } = this.#parts
    const sandbox = lodgings.arrived(id)
    if (sandbox === undefined || this.#closing.signal.aborted) return
    await lodgings.leave(sandbox).catch(error => log.error('start', { task: id, error: traceOf(error) }))
  }

  /** Never rejects. */
  async #carryOut(begun: StartTask, signal: AbortSignal): Promise<void> {
    const { tasks, pending, log } = this.#parts
    let task = begun
    try {
      while (!isOver(task.record)) {
        signal.throwIfAborted()
        const { status } = task.record
        const { step, ...known } = await this.#step(task, signal)
        const steps = step ? [...task.record.steps, { status, ...step }] : task.record.steps
        task = await tasks.change(task, { ...known, steps, status: NEXT[status] })
      }
    } catch (error) {
      if (signal.reason === CLOSING) return
      const isTold = error instanceof Fault || error === CANCELLED
      if (!isTold) log.error('start', { task: task.id, error: traceOf(error) })
      return this.#end(task.id, isTold ? reasonOf(error as Error) : 'Something unexpected went wrong')
    }
    await pending.deliver(task.conversation)
  }

  /** Tried until it is on record: an end that is not would be waited for in vain. */
  async #end(id: string, detail: string): Promise<void> {
    const { tasks, log } = this.#parts
    const { signal } = this.#closing
    while (!signal.aborted)
      try {
        const task = await tasks.get(id)
        if (!isOver(task.record)) await this.#fail(task, detail)
        return
      } catch (error) {
        log.error('start', { task: id, error: traceOf(error) })
        await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined)
      }
  }

  /** What was made for it goes first: should the server die in between, it is made, and fails, once more. */
  async #fail(task: StartTask, detail: string): Promise<void> {
    const { tasks, lodgings } = this.#parts
    const { status, steps, sandbox } = task.record
    lodgings.arrived(task.id)
    if (sandbox !== null) await lodgings.leave(sandbox)
    await tasks.change(task, { status: 'ERROR', detail, steps: [...steps, { status, outcome: 'failed', detail }] })
  }

  async #step(task: StartTask, signal: AbortSignal): Promise<Progress> {
    const { preparation, lodgings } = this.#parts
    switch (task.record.status) {
      case 'WORKING':
        return { ...(await lodgings.place(task)), ...(!task.record.trusted && { step: WITHHELD }) }
      case 'WAITING_FOR_SANDBOX':
        await abortable(lodgings.enter(task), signal)
        return {}
      case 'PREPARING_REPOSITORY':
        return preparation.repository(task, await this.#hands(task), signal)
      case 'RUNNING_SETUP_SCRIPT':
        return preparation.setUp(task, await this.#hands(task), signal)
      case 'SETTING_UP_GIT_HOOKS':
        return preparation.gitHooks(task, await this.#hands(task), signal)
      case 'SETTING_UP_SKILLS':
        return { step: { outcome: 'skipped', detail: 'The conversation reads them itself, under the rule of trust' } }
      default:
        lodgings.prepared(task.id)
        await this.#converse(task)
        return {}
    }
  }

  #hands({ record }: StartTask): Promise<Sandbox> {
    return this.#parts.sandboxes.wake(record.sandbox ?? DEFAULT_SANDBOX)
  }

  /** Finds the conversation, if it was begun before a crash. */
  async #converse({ conversation: id, record }: StartTask): Promise<void> {
    const { conversations, settings, agentProfiles, vault } = this.#parts
    const request = openAll(vault, AppConversationStartRequest, record.request)
    const launch = await agentProfiles.forOrder(request.agent_profile_id, record.trusted)
    const agent = launch?.settings ?? openAll(vault, AgentSettings, await settings.agentSettings())
    const means = await meansFor(this.#parts, agent, record.trusted)
    const order = conversationOrder({ id, request, ...means, folder: record.folder ?? '/', notes: record.notes })
    const tags = { ...order.tags, ...(launch && launchTags(launch.launched)) }
    const beside = {
      title: request.title,
      parts: { [APP]: JSON.stringify(appInfo(request)) },
      ...(launch && { launched: launch.launched }),
    }
    const place = record.sandbox ?? DEFAULT_SANDBOX
    await conversations.start({ ...order, tags }, () => record.trusted, false, place, beside)
    await this.#checkParent(id, request.parent_conversation_id)
  }

  /** A parent that was deleted before this one was there could not take it along. */
  async #checkParent(id: string, parent: string | null): Promise<void> {
    const { store, conversations } = this.#parts
    if (parent === null || (await store.conversations([parent]))[0]) return
    await conversations.delete(id)
    throw fault('conversation_not_found', parent)
  }

  /** Under another key, an id is not to be had a second time. */
  async #checkFree(conversation: string): Promise<void> {
    const { store, tasks } = this.#parts
    const [there] = await store.conversations([conversation])
    const start = await tasks.of(conversation)
    if (there || (start && !isOver(start.record))) throw fault('start_key_taken')
  }

  async #inherit(request: AppConversationStartRequest): Promise<AppConversationStartRequest> {
    const { store, conversations } = this.#parts
    const { parent_conversation_id: parent } = request
    if (parent === null) return request
    const { no, sandbox } = await conversations.record(parent)
    const { agent } = await conversations.get(parent)
    const [parts] = await store.conversationParts([no], [APP])
    return inherit(request, {
      app: readAppInfo(parts?.[APP]),
      sandbox: sandbox ?? DEFAULT_SANDBOX,
      model: agent.llm.model,
    })
  }
}

function refuseWhatCannotBe({ suggested_task, initial_message }: AppConversationStartRequest) {
  if (suggested_task && initial_message)
    throw fault('invalid_request', 'A suggested task is a first message: initial_message cannot be another')
}

const reasonOf = (error: Error): string =>
  error instanceof Fault && error.code === 'sandbox_not_found' ? 'Its sandbox was deleted' : error.message

const traceOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
