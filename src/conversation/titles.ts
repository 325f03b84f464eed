import type { LLM } from '../api/llm.ts'
import type { Log } from '../lib/log.ts'
import type { Asides } from './asides.ts'
import type { Journal } from './journal.ts'
import type { Order } from './order.ts'

export interface TitlesParts {
  journal: Journal
  asides: Asides
  log: Log
  /** Of a profile, sealed. */
  profile(name: string): Promise<LLM>
}

/** Characters of a title. */
const LENGTH = 50
/** Of a message, what its title is made from. */
const SOURCE = 2_000
/** A title is not worth a longer wait. */
const PATIENCE_MS = 30_000

const SYSTEM = `Give the task below a title of at most ${LENGTH} characters, in the language it is written in. Say what is to be done, as a headline does. Answer with the title alone: no quotes, no full stop.`

/** Names conversations after their first message: at once by its beginning, and then by what a model makes of it. */
export class Titles {
  readonly #parts: TitlesParts
  readonly #closing = new AbortController()
  readonly #making = new Set<Promise<void>>()

  constructor(parts: TitlesParts) {
    this.#parts = parts
  }

  /** Goes on in the background. What fails leaves the beginning of the message. */
  make(id: string, order: Order, message: string): void {
    if (!order.options.autotitle || message.trim() === '') return
    const making = this.#make(id, order, message.slice(0, SOURCE))
      .catch(error => this.#parts.log.info('title', { conversation: id, error: String(error) }))
      .finally(() => this.#making.delete(making))
    this.#making.add(making)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#making)
  }

  async #make(id: string, order: Order, message: string): Promise<void> {
    const provisional = shortened(message)
    await this.#name(id, null, provisional)
    const { title_llm_profile } = order.options
    const llm = title_llm_profile ? await this.#parts.profile(title_llm_profile) : undefined
    if ((llm ?? order.agent.llm).model.startsWith('demo/')) return
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(PATIENCE_MS)])
    const aside = { usage: 'title', system: SYSTEM, prompt: message, llm: llm && { ...llm, num_retries: 0 } }
    const said = await this.#parts.asides.ask(id, order, aside, signal)
    const title = shortened(said.replace(/^["'“”]+|["'“”.]+$/g, ''))
    if (title) await this.#name(id, provisional, title)
  }

  /** What a person called it stays. */
  async #name(id: string, old: string | null, title: string): Promise<void> {
    await this.#parts.journal.transact(id, ({ record }) => (record.title === old ? { title, touches: true } : {}))
  }
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= LENGTH ? line : `${line.slice(0, LENGTH - 1).trimEnd()}…`.toWellFormed()
}
