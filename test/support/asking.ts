import { fail } from 'node:assert/strict'
import type { Model, ModelRequest, Reply } from '../../src/agent/model.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { StartConversationRequest } from '../../src/api/conversations.ts'
import type { Event } from '../../src/api/events.ts'
import { Asides } from '../../src/conversation/asides.ts'
import { Budgets } from '../../src/conversation/budgets.ts'
import { Control } from '../../src/conversation/control.ts'
import { Conversations } from '../../src/conversation/conversations.ts'
import { Feed } from '../../src/conversation/feed.ts'
import { Journal } from '../../src/conversation/journal.ts'
import { Models } from '../../src/conversation/models.ts'
import { recover } from '../../src/conversation/recover.ts'
import { Runner } from '../../src/conversation/runner.ts'
import { Sessions } from '../../src/conversation/sessions.ts'
import type { State } from '../../src/conversation/state.ts'
import { Thinking } from '../../src/conversation/thinking.ts'
import { Titles } from '../../src/conversation/titles.ts'
import { newId } from '../../src/lib/id.ts'
import { makeLog } from '../../src/lib/log.ts'
import { Vault } from '../../src/policy/secrets.ts'
import type { Append, EventRecord, Store } from '../../src/store/store.ts'

const VAULT = new Vault('a secret key of a test')
const SIDE_EFFECT = { type: 'object', properties: { mark: { type: 'string' } } }

/** What is on disk before and after one commit. */
export interface Commit {
  at: number
  before: State
  after: State
  events: Event[]
}

/** What outlives every life of the server: its disk, the model's script, and what tools did to the world. */
export class World {
  readonly id = newId()
  readonly store: Store
  readonly commits: Commit[] = []
  /** When each marked action was carried out. */
  readonly done = new Map<string, number[]>()
  /** How often the model was asked. */
  asked = 0
  /** Failures that no server should log. */
  readonly failures: string[] = []
  readonly #script: Script
  readonly #pace: () => Pace
  readonly #gates = new Set<() => void>()
  #now = 0
  #open = false
  #state: State | undefined

  constructor(store: Store, script: Script, pace: () => Pace) {
    this.store = store
    this.#script = script
    this.#pace = pace
  }

  /** A moment of its own. */
  tick(): number {
    return ++this.#now
  }

  /** Lets go of everything that waits. */
  release(): void {
    for (const go of this.#gates) go()
    this.#gates.clear()
  }

  /** From now on nothing waits. */
  openGates(): void {
    this.#open = true
    this.release()
  }

  committed({ state, events }: Append): void {
    const after: State = JSON.parse(state)
    this.commits.push({
      at: this.tick(),
      before: this.#state ?? after,
      after,
      events: events.map(({ json }) => JSON.parse(json)),
    })
    this.#state = after
  }

  /** The first state, which no append makes. */
  began(state: State): void {
    this.#state = state
  }

  async ask({ messages }: ModelRequest, signal: AbortSignal): Promise<Reply> {
    checkAnswered(messages)
    this.asked += 1
    await this.#wait(signal)
    const { text, calls } = this.#script(this.asked)
    return {
      id: newId(),
      text,
      calls,
      reasoning: '',
      thinking: [],
      reasoningItem: null,
      cut: false,
      refused: false,
      usage: { prompt: 1, completion: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      latencyMs: 1,
    }
  }

  /** A tool that leaves a mark in the world. */
  tool(name: string, readOnly: boolean, life: Life): Tool {
    return {
      name,
      definition: undefined,
      description: name,
      parameters: SIDE_EFFECT,
      readOnly,
      understand: ({ mark }) => ({ kind: 'TerminalAction', command: String(mark), is_input: false, reset: false }),
      run: async (action, { signal }) => {
        if (life.dead) return new Promise(() => undefined)
        const mark = (action as { command: string }).command
        this.done.set(mark, [...(this.done.get(mark) ?? []), this.tick()])
        await this.#wait(signal)
        return {
          kind: 'ThinkObservation',
          content: [{ type: 'text', text: mark, cache_prompt: false }],
          is_error: false,
        }
      },
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    const pace = this.#open ? 'now' : this.#pace()
    if (pace === 'now') return Promise.resolve()
    return new Promise((resolve, reject) => {
      if (pace === 'soon') setImmediate(resolve)
      else this.#gates.add(resolve)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
}

/** What the model says to its n-th question. */
export type Script = (n: number) => Pick<Reply, 'text' | 'calls'>
export type Pace = 'now' | 'soon' | 'when released'

/** Providers refuse a call without its result right after it. */
function checkAnswered(messages: ModelRequest['messages']): void {
  for (const [i, { tool_calls }] of messages.entries())
    for (const [k, call] of (tool_calls ?? []).entries())
      if (messages[i + 1 + k]?.tool_call_id !== call.id) fail(`a call without its result: ${JSON.stringify(messages)}`)
}

/** One life of a server over a world: everything that conversations think with, wired as the server wires it. */
export class Life {
  readonly world: World
  readonly feed = new Feed()
  readonly journal: Journal
  readonly runner: Runner
  readonly conversations: Conversations
  readonly control: Control
  dead = false
  readonly #sessions: Sessions
  readonly #store: Store
  readonly #writing = new Set<Promise<unknown>>()

  constructor(world: World) {
    this.world = world
    const store = this.#mortal(world.store)
    this.#store = store
    const log = makeLog('error', line => world.failures.push(line))
    this.journal = new Journal(store, this.feed)
    const { journal, feed } = this
    const budgets = new Budgets(store)
    const model: Model = {
      name: 'openai/any',
      contextWindow: undefined,
      sees: false,
      ask: (request, _, signal) => world.ask(request, signal),
      cost: () => undefined,
    }
    const models = new Models(
      async () => model,
      VAULT,
      async llm => llm,
    )
    const asides = new Asides({ journal, models, budgets })
    const sessions = new Sessions({
      store,
      vault: VAULT,
      log,
      ask: (...question) => asides.ask(...question),
      keepLogin: () => undefined,
      reach: () => fail('no hand is needed'),
      isRunning: () => false,
      workingDirOf: () => '/workspace',
      userSkills: async () => ({ skills: [], problems: [] }),
      approved: async () => new Set(),
      secrets: { fetch, stored: async () => '' },
      more: () => [world.tool('act', false, this), world.tool('look', true, this)],
    })
    this.#sessions = sessions
    const thinking = new Thinking({ store, journal, feed, sessions, models, budgets })
    const snapshot = (id: string) => this.conversations.snapshot(id)
    this.runner = new Runner({ journal, feed, log, work: thinking.work, snapshot })
    const { runner } = this
    this.conversations = new Conversations({
      store,
      journal,
      feed,
      runner,
      vault: VAULT,
      log,
      sessions,
      titles: new Titles({ journal, asides, log, profile: () => fail('there are no profiles') }),
      heard: async () => undefined,
      left: async () => undefined,
      worktree: async () => null,
      caution: async () => ({}),
      checkFolder: async () => undefined,
      launch: () => fail('there are no agent profiles'),
      loadPlugins: async () => ({ kits: [], pinned: [] }),
    })
    this.control = new Control({ store, journal, runner, sessions, vault: VAULT })
  }

  async begin(order: object): Promise<void> {
    const request = StartConversationRequest.parse({
      conversation_id: this.world.id,
      agent: { kind: 'Agent', llm: { model: 'openai/any', num_retries: 0 }, tools: [] },
      workspace: { working_dir: '/workspace' },
      autotitle: false,
      ...order,
    })
    await this.conversations.start(request, () => true, false)
    this.world.began((await this.view()).state)
  }

  async view() {
    return (await this.journal.view(this.world.id)) ?? fail('the conversation is gone')
  }

  /** As a server does when it starts. */
  async recover(): Promise<void> {
    await recover(this.#store, this.runner)
  }

  /** As the end of a server that was asked to end. */
  async close(): Promise<void> {
    await this.runner.close()
    await this.#sessions.close()
  }

  /** As kill -9: nothing is heard of it from here on, and what it was writing is on disk or is not. */
  async die(): Promise<void> {
    this.dead = true
    await Promise.allSettled(this.#writing)
    // Their timers would keep it in memory. One that was being made never comes to be.
    void this.#sessions.close()
  }

  listen(heard: (records: readonly EventRecord[]) => void): () => void {
    return this.feed.listen(this.world.id, { events: heard, passing: () => undefined, deleted: () => undefined })
  }

  /** Other worlds on the same disk are not its own. */
  readonly #own: Store['searchConversations'] = async ({ status }) => {
    const [record] = await this.world.store.conversations([this.world.id])
    return { items: record?.status === status ? [record!] : [], next: undefined }
  }

  #mortal(store: Store): Store {
    const never = new Promise<never>(() => undefined)
    return new Proxy(store, {
      get: (target, name) => {
        const method = name === 'searchConversations' ? this.#own : Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return async (...given: unknown[]) => {
          if (this.dead) return never
          const doing = Promise.resolve(method.apply(target, given)).then(result => {
            if (name === 'append') this.world.committed(given[0] as Append)
            return result
          })
          this.#writing.add(doing)
          try {
            const result = await doing
            return this.dead ? never : result
          } finally {
            this.#writing.delete(doing)
          }
        }
      },
    })
  }
}
