import type { Entry } from '../agent/book.ts'
import { metered, sums } from '../agent/metrics.ts'
import type { Delta, Model, ModelRequest, OpenModel, Reply } from '../agent/model.ts'
import { type Patience, patiently } from '../agent/retry.ts'
import { stateUpdate } from '../api/draft.ts'
import { LLM, type Metrics } from '../api/llm.ts'
import { openAll, type Vault } from '../policy/secrets.ts'

/** How many models stay open. One costs little, but orders may name ever new ones. */
const OPEN = 100

/** Of an answer, where the order sets no limit: longer ones are rare. */
const ANSWER_TOKENS = 16_000
/** Few enough that the number of tokens is hardly ever underestimated. */
const CHARACTERS_PER_TOKEN = 3

/** A model that was ordered, open. */
export interface Opened {
  llm: LLM
  model: Model
  ask(
    request: ModelRequest,
    signal: AbortSignal,
    around?: { listen?(delta: Delta): void } & Pick<Patience, 'rest' | 'onWait'>,
  ): Promise<Reply>
  /** In USD, what a question with its answer may cost: an estimate, rather too high than too low. */
  most(request: ModelRequest): number
  /** What an answer adds to the metrics. */
  meter(reply: Reply, metrics: Readonly<Record<string, Metrics>>, budget: number | null): Entry
}

/** The key and the address of the provider connection that a model names, in place of its own. Secrets are sealed, and stay so. */
export type Connect = (llm: LLM) => Promise<LLM>

/** Opens models by their order, its secrets sealed until here, and keeps them open. */
export class Models {
  readonly #open: OpenModel
  readonly #vault: Vault
  readonly #connect: Connect
  readonly #opened = new Map<string, Promise<Opened>>()

  constructor(open: OpenModel, vault: Vault, connect: Connect) {
    this.#open = open
    this.#vault = vault
    this.#connect = connect
  }

  async of(ordered: LLM): Promise<Opened> {
    const sealed = await this.#connect(ordered)
    const key = JSON.stringify(sealed)
    const known = this.#opened.get(key)
    if (known) return known
    if (this.#opened.size >= OPEN) this.#opened.delete(this.#opened.keys().next().value!)
    const opening = this.#openOne(sealed)
    this.#opened.set(key, opening)
    opening.catch(() => this.#opened.delete(key))
    return opening
  }

  async #openOne(sealed: LLM): Promise<Opened> {
    const llm = openAll(this.#vault, LLM, sealed)
    const model = await this.#open(llm)
    return {
      llm: sealed,
      model,
      ask: (request, signal, { listen = () => undefined, ...patience } = {}) =>
        patiently(() => model.ask(request, listen, signal), { llm, signal, ...patience }),
      most: request => {
        const prompt = Math.ceil(JSON.stringify(request).length / CHARACTERS_PER_TOKEN)
        const completion = llm.max_output_tokens ?? ANSWER_TOKENS
        return model.cost({ prompt, completion, cacheRead: 0, cacheWrite: 0, reasoning: 0 }) ?? 0
      },
      meter: (reply, metrics, budget) => {
        const { name, contextWindow } = model
        const called = { model: name, contextWindow, reply, cost: model.cost(reply.usage), at: Date.now() / 1000 }
        const changed = { [llm.usage_id]: { ...metered(metrics[llm.usage_id], called), max_budget_per_task: budget } }
        const all = Object.entries({ ...metrics, ...changed }).map(([id, one]) => [id, sums(one)])
        return { metrics: changed, drafts: [stateUpdate('stats', { usage_to_metrics: Object.fromEntries(all) })] }
      },
    }
  }
}
