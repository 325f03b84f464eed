import type { Standing } from '../agent/book.ts'
import { Ended, type Failure } from '../agent/loop.ts'
import type { ModelRequest, Reply } from '../agent/model.ts'
import { isExhausted, spent } from '../policy/budget.ts'
import type { Store } from '../store/store.ts'
import type { Opened } from './models.ts'
import type { Order } from './order.ts'
import type { State } from './state.ts'

/** What a conversation and its sub-agents spend together. */
interface Purse {
  /** In USD, by conversation. */
  spent: Map<string, number>
  /** The dearest call so far: the next may cost as much. */
  dearest: number
  /** Calls that are being made, and what they may cost together. */
  calls: number
  reserved: number
  /** Woken when a call ends. */
  waiting: (() => void)[]
}

/**
 * Keeps what is spent within limits. Conversations that share a limit make one call at a time once a call may be the last, so that the sum
 * passes it by one call at most.
 */
export class Budgets {
  readonly #store: Store
  readonly #purses = new Map<string, Promise<Purse>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Why nothing more may be spent. */
  async failure(id: string, order: Order, now: Standing): Promise<Failure | undefined> {
    const limit = order.options.max_budget_per_task
    if (limit == null) return undefined
    const purse = await this.#purse(rootOf(id, order))
    purse.spent.set(id, spent(now.metrics))
    return isExhausted(sum(purse), limit) ? exhausted(limit) : undefined
  }

  /** Makes a call that is paid for, when its turn has come. What it cost is known before anybody else makes one. */
  async spend(
    { id, order }: { id: string; order: Order },
    { model, most }: Opened,
    request: ModelRequest,
    call: () => Promise<Reply>,
  ): Promise<Reply> {
    const limit = order.options.max_budget_per_task
    if (limit == null) return call()
    if (model.cost(ONE_TOKEN) === undefined) throw new Ended(unpriced(model.name))
    const purse = await this.#purse(rootOf(id, order))
    const reserve = Math.max(purse.dearest, most(request))
    while (purse.calls > 0 && isExhausted(sum(purse) + purse.reserved + reserve, limit))
      await new Promise<void>(resolve => purse.waiting.push(resolve))
    if (isExhausted(sum(purse), limit)) throw new Ended(exhausted(limit))
    purse.calls += 1
    purse.reserved += reserve
    try {
      const reply = await call()
      const cost = model.cost(reply.usage) ?? 0
      purse.spent.set(id, (purse.spent.get(id) ?? 0) + cost)
      purse.dearest = Math.max(purse.dearest, cost)
      return reply
    } finally {
      purse.calls -= 1
      purse.reserved -= reserve
      for (const wake of purse.waiting.splice(0)) wake()
    }
  }

  #purse(root: string): Promise<Purse> {
    return this.#purses.getOrInsertComputed(root, () => this.#read(root))
  }

  async #read(root: string): Promise<Purse> {
    const children = (await this.#store.childrenOf([root])).get(root) ?? []
    const records = await this.#store.conversations([root, ...children])
    const amounts = records.flatMap((record): [string, number][] => {
      if (!record || record.damaged) return []
      const { stats }: State = JSON.parse(record.state)
      return [[record.id, spent(stats.usage_to_metrics)]]
    })
    return { spent: new Map(amounts), dearest: 0, calls: 0, reserved: 0, waiting: [] }
  }
}

const rootOf = (id: string, { options }: Order): string => options.subagent_of ?? id

const sum = ({ spent }: Purse): number => spent.values().reduce((total, amount) => total + amount, 0)

const ONE_TOKEN = { prompt: 1, completion: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

const exhausted = (limit: number): Failure => ({
  code: 'MaxBudgetReached',
  detail: `The budget of ${limit} USD is used up. Raise it to let the agent go on.`,
  classification: { kind: 'quota', retryable: false, user_action: 'settings' },
})

const unpriced = (model: string): Failure => ({
  code: 'UnknownPrice',
  detail: `The price of ${model} is not known, so that no budget can be kept. Set input_cost_per_token and output_cost_per_token, or take the budget away.`,
  classification: { kind: 'config', retryable: false, user_action: 'settings' },
})
