import { type Plan, plan, summarizer } from '../agent/condense.ts'
import { messagesOf } from '../agent/context.ts'
import type { Execute } from '../agent/execute.ts'
import type { HookResult } from '../agent/hooks/verdict.ts'
import { corrective, Ended, type LoopParts, type Mind, type Verdict, work } from '../agent/loop.ts'
import { type Delta, ModelError, type ModelRequest, type Reply } from '../agent/model.ts'
import { summaryRequest } from '../agent/summary.ts'
import type { Tool } from '../agent/tool.ts'
import { specOf } from '../agent/toolbox.ts'
import type { TextContent } from '../api/common.ts'
import type { Condenser, LLMSummarizingCondenser as Summarizer } from '../api/condenser.ts'
import { type Draft, stateUpdate, statusUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { LLM } from '../api/llm.ts'
import { newId } from '../lib/id.ts'
import type { Store } from '../store/store.ts'
import { ConversationBook } from './book.ts'
import type { Budgets } from './budgets.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'
import type { Models, Opened } from './models.ts'
import type { Work } from './runner.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

export interface ThinkingParts {
  store: Store
  journal: Journal
  feed: Feed
  sessions: Sessions
  models: Models
  budgets: Budgets
}

/** Joins what a conversation is with how an agent thinks: the work of a run. */
export class Thinking {
  readonly #parts: ThinkingParts

  constructor(parts: ThinkingParts) {
    this.#parts = parts
  }

  work: Work = (id, signal, rest) =>
    this.#parts.sessions.with(id, async session => {
      const over = new AbortController()
      session.warm(AbortSignal.any([signal, over.signal]))
      try {
        await session.ready(signal)
        using run = await Run.open(session, this.#parts)
        await run.work(signal, rest)
      } finally {
        over.abort()
      }
    })

  /** One answer about the conversation. It leaves no trace in it but what it cost. */
  ask(id: string, question: string, signal: AbortSignal): Promise<string> {
    return this.#beside(id, signal, async (run, session) => {
      await session.ready(signal)
      return run.ask(question, signal)
    })
  }

  /** Makes what the model sees shorter, whether or not it is long. Where nothing can be left out, nothing is. */
  async condense(id: string, signal: AbortSignal): Promise<void> {
    const view = await this.#parts.journal.view(id)
    if (view?.state.execution_status === 'running') throw fault('conversation_running')
    await this.#beside(id, signal, run => run.condense(signal))
  }

  /** What fails here is told to whoever asked, and to nobody else. */
  #beside<T>(id: string, signal: AbortSignal, work: (run: Run, session: Session) => Promise<T>): Promise<T> {
    return this.#parts.sessions.with(id, async session => {
      using run = await Run.open(session, this.#parts)
      try {
        return await work(run, session)
      } catch (error) {
        if (signal.aborted) throw fault('bad_request', 'Whoever asked has gone')
        if (error instanceof ModelError || error instanceof Ended) throw fault('model_failed', error.message)
        throw error
      }
    })
  }
}

/** One run of one conversation. */
class Run {
  readonly #session: Session
  readonly #book: ConversationBook
  readonly #parts: ThinkingParts
  #tools = new Map<string, Tool>()
  #problems = '[]'
  #rest: (() => AbortSignal) | undefined
  /** Of the last question and its answer; not known before the first, nor after a condensation. */
  #tokens: number | undefined

  private constructor(session: Session, parts: ThinkingParts, book: ConversationBook) {
    this.#session = session
    this.#parts = parts
    this.#book = book
    this.#look()
  }

  static async open(session: Session, parts: ThinkingParts): Promise<Run> {
    let run: Run | undefined
    const isReadOnly = (tool: string) => run?.isReadOnly(tool) ?? false
    const book = await ConversationBook.open({ ...parts, isReadOnly }, session.id)
    run = new Run(session, parts, book)
    return run
  }

  [Symbol.dispose](): void {
    this.#book.close()
  }

  /** What a foreign server says of its own tools frees it from no question. */
  isReadOnly(name: string): boolean {
    const tool = this.#tools.get(name)
    return !!tool?.readOnly && tool.definition?.kind !== 'MCPToolDefinition'
  }

  async work(signal: AbortSignal, rest: () => AbortSignal): Promise<void> {
    this.#rest = rest
    const { branch } = this.#book
    this.#session.recall(branch.flatMap(event => (event.kind === 'ObservationEvent' ? [event.observation] : [])))
    if (branch.length === 0) await this.#book.keep(() => ({ drafts: [this.#session.introduction()] }))
    await work(this.#loop(), signal)
  }

  async ask(question: string, signal: AbortSignal): Promise<string> {
    const { agent, options } = this.#session.order
    const asked = await this.#parts.models.of({ ...agent.llm, usage_id: 'ask-agent-llm', stream: false })
    const { llm, model } = asked
    const messages = messagesOf(this.#book.shown, {
      maxCharacters: llm.max_message_chars,
      sees: model.sees,
      since: this.#session.order.thinks_since,
    })
    messages.push({
      role: 'user',
      content: [{ type: 'text', text: `${ASIDE}\n${question}`, cache_prompt: false }],
      thinking_blocks: [],
    })
    const reply = await this.#ask(asked, { messages, tools: [] }, signal)
    await this.#book.keep(now => asked.meter(reply, now.metrics, options.max_budget_per_task))
    return this.#session.mask(reply.text)
  }

  async condense(signal: AbortSignal): Promise<boolean> {
    await this.#book.keep(() => ({ drafts: [{ kind: 'CondensationRequest', source: 'environment' }] }))
    return this.#shorten({ forced: true, attempt: 0 }, signal)
  }

  #look(): void {
    this.#tools = new Map(this.#session.tools().map(tool => [tool.name, tool]))
  }

  #loop(): LoopParts {
    const { order } = this.#session
    return {
      book: this.#book,
      execute: this.#execute(),
      mind: () => this.#mind(),
      shorten: (tooLong, signal) => this.#shorten({ forced: tooLong > 0, attempt: Math.max(0, tooLong - 1) }, signal),
      before: (action, signal) => this.#before(action.id, action.tool_name, action.action ?? {}, signal),
      atEnd: signal => this.#atEnd(signal),
      overBudget: now => this.#parts.budgets.failure(this.#session.id, this.#session.order, now),
      maxIterations: order.max_iterations,
      detectsStuck: order.stuck_detection,
    }
  }

  #execute(): Execute {
    const run = this
    return {
      get tools() {
        return run.#tools
      },
      hands: signal => this.#session.hands(signal),
      mask: value => this.#session.mask(value),
      after: async (action, observation, rules, signal) => {
        const input = { toolInput: { ...action.action }, toolResponse: { ...observation } }
        const results = await this.#session.hook('PostToolUse', { toolName: action.tool_name, ...input }, signal)
        const told = results.flatMap(({ additionalContext }) => (additionalContext ? [textOf(additionalContext)] : []))
        const { activated, content } = this.#session.rulesFor(action.action!, rules)
        const invoked = observation.kind === 'InvokeSkillObservation' && !observation.is_error
        return {
          drafts: results.map(({ event }) => ({ ...event, action_id: action.id })),
          context: [...told, ...content],
          learnt: { rules: activated, ...(invoked && { invoked: [observation.skill_name] }) },
        }
      },
    }
  }

  async #mind(): Promise<Mind> {
    this.#look()
    await this.#tellProblems()
    const opened = await this.#parts.models.of(this.#session.order.agent.llm)
    const { model, llm } = opened
    return {
      ask: (request, signal) => this.#ask(opened, request, signal, delta => this.#book.tell(this.#session.mask(delta))),
      specs: [...this.#tools.values()].map(specOf),
      maxCharacters: llm.max_message_chars,
      sees: model.sees,
      since: this.#session.order.thinks_since,
      meter: (reply, now) => {
        this.#tokens = reply.usage.prompt + reply.usage.completion
        const { llm_retry, ...notes } = now.notes
        const { metrics, drafts = [] } = opened.meter(
          reply,
          now.metrics,
          this.#session.order.options.max_budget_per_task,
        )
        return {
          ...(metrics && { metrics }),
          drafts: llm_retry ? [...drafts, stateUpdate('agent_state', notes)] : drafts,
        }
      },
    }
  }

  /** Only what the agent says itself is listened to: a page shows what it hears as said in the conversation. */
  #ask(opened: Opened, request: ModelRequest, signal: AbortSignal, listen?: (delta: Delta) => void): Promise<Reply> {
    const { id, order } = this.#session
    const { budgets } = this.#parts
    return budgets.spend({ id, order }, opened, request, () =>
      opened.ask(request, signal, {
        ...(this.#rest && { rest: this.#rest }),
        ...(opened.llm.stream && listen && { listen }),
        onWait: (until, attempt, { code, message }) =>
          this.#note({ attempt, until: until.toISOString(), code, message }),
      }),
    )
  }

  /** Which MCP servers cannot be used is shown, whenever that changes. */
  async #tellProblems(): Promise<void> {
    const problems = this.#session.mask(this.#session.problems())
    const told = JSON.stringify(problems)
    if (told === this.#problems) return
    this.#problems = told
    await this.#book.keep(({ notes }) => {
      if (told === JSON.stringify(notes.mcp_problems ?? [])) return {}
      return { drafts: [stateUpdate('agent_state', { ...notes, mcp_problems: problems })] }
    })
  }

  /** Tells that the model is being waited for. */
  #note(llm_retry: object): void {
    const noting = this.#book.keep(({ notes }) => ({ drafts: [stateUpdate('agent_state', { ...notes, llm_retry })] }))
    noting.catch(() => undefined)
  }

  async #before(id: string, toolName: string, toolInput: object, signal: AbortSignal): Promise<Verdict> {
    const results = await this.#session.hook('PreToolUse', { toolName, toolInput: { ...toolInput } }, signal)
    const block = results.find(({ blocked }) => blocked)
    return {
      drafts: results.map(({ event }) => ({ ...event, action_id: id })),
      ...(block && { blocked: block.reason ?? '' }),
    }
  }

  async #atEnd(signal: AbortSignal): Promise<readonly Draft[]> {
    const results = await this.#session.hook('Stop', {}, signal)
    const drafts: Draft[] = results.map(({ event }) => event)
    const denial = results.find(({ blocked }) => blocked)
    if (!denial) return drafts
    return [...drafts, corrective(`[Stop hook feedback] ${feedback(denial)}`), statusUpdate('running')]
  }

  /** False when nothing had to be left out, or nothing could be. */
  async #shorten(pressure: { forced: boolean; attempt: number }, signal: AbortSignal): Promise<boolean> {
    const { agent, options } = this.#session.order
    const { models } = this.#parts
    const condenser = agent.condenser ?? (pressure.forced ? standard(agent.llm) : null)
    const { contextWindow: window } = (await models.of(agent.llm)).model
    const decision = plan(this.#book.shown, condenser, {
      ...pressure,
      tokens: this.#tokens,
      ...(window !== undefined && { window }),
    })
    const chosen = summarizer(condenser)
    if (!decision || !chosen) return false
    const opened = await models.of(chosen.llm)
    const reply = await this.#summarize(opened, decision, chosen, signal)
    this.#tokens = undefined
    await this.#book.keep(now => {
      const { drafts = [], ...metered } = opened.meter(reply, now.metrics, options.max_budget_per_task)
      const condensation: Draft = {
        kind: 'Condensation',
        id: newId(),
        source: 'environment',
        forgotten_event_ids: decision.forget,
        summary: this.#session.mask(reply.text),
        summary_offset: decision.offset,
        llm_response_id: reply.id,
      }
      return { ...metered, drafts: [condensation, ...drafts] }
    })
    return true
  }

  /** What is too long even for a summary is shortened before it is summarised. */
  async #summarize(opened: Opened, { summarize, previousSummary }: Plan, settings: Summarizer, signal: AbortSignal) {
    for (let tries = 0; ; tries++) {
      const scale = settings.hard_context_reset_context_scaling ** tries
      try {
        return await this.#ask(
          opened,
          { messages: summaryRequest(summarize, previousSummary, scale), tools: [] },
          signal,
        )
      } catch (error) {
        const overflows = error instanceof ModelError && error.code === 'LLMContextWindowExceedError'
        if (!overflows || tries >= settings.hard_context_reset_max_retries) throw error
      }
    }
  }
}

const ASIDE =
  'A question on the side, from somebody who follows this conversation. Answer it briefly from what you know by now, without calling tools:'

const feedback = ({ reason, additionalContext }: HookResult): string =>
  [reason, additionalContext].filter(Boolean).join('\n')

const textOf = (text: string): TextContent => ({ type: 'text', text, cache_prompt: false })

/** For an order without a condenser, when there is no other way to go on. */
const standard = (llm: LLM): Condenser => ({
  kind: 'LLMSummarizingCondenser',
  llm,
  max_size: 240,
  max_tokens: null,
  keep_first: 2,
  minimum_progress: 0.1,
  hard_context_reset_max_retries: 5,
  hard_context_reset_context_scaling: 0.8,
})
