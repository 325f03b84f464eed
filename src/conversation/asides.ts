import type { Message } from '../api/common.ts'
import type { LLM } from '../api/llm.ts'
import type { Budgets } from './budgets.ts'
import type { Journal } from './journal.ts'
import type { Models } from './models.ts'
import type { Order } from './order.ts'

export interface AsidesParts {
  journal: Journal
  models: Models
  budgets: Budgets
}

export interface Aside {
  /** Under which what it costs is listed. */
  usage: string
  system: string
  prompt: string
  /** The agent's own unless given. */
  llm?: LLM | undefined
}

/** Questions beside the work of a run: their answers are in no log, but what they cost is. */
export class Asides {
  readonly #parts: AsidesParts

  constructor(parts: AsidesParts) {
    this.#parts = parts
  }

  async ask(id: string, order: Order, aside: Aside, signal: AbortSignal): Promise<string> {
    const { journal, models, budgets } = this.#parts
    const opened = await models.of({ ...(aside.llm ?? order.agent.llm), usage_id: aside.usage, stream: false })
    const messages = [message('system', aside.system), message('user', aside.prompt)]
    const request = { messages, tools: [] }
    const reply = await budgets.spend({ id, order }, opened, request, () => opened.ask(request, signal))
    await journal.transact(id, ({ state }) => {
      const { usage_to_metrics } = state.stats
      const { drafts = [], metrics } = opened.meter(reply, usage_to_metrics, order.options.max_budget_per_task)
      return {
        drafts,
        also: after => ({ stats: { usage_to_metrics: { ...after.stats.usage_to_metrics, ...metrics } } }),
      }
    })
    return reply.text
  }
}

const message = (role: 'system' | 'user', text: string): Message => ({
  role,
  content: [{ type: 'text', text, cache_prompt: false }],
  thinking_blocks: [],
})
