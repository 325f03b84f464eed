import { AsyncLocalStorage } from 'node:async_hooks'
import type { LLM } from '../../api/llm.ts'
import { type Delta, type Model, ModelError, type ModelRequest, type OpenModel, type Reply } from '../model.ts'
import { rereads, sees } from './abilities.ts'
import { markForCache } from './caching.ts'
import { explain } from './errors.ts'
import { FIRST_WORD_MS, SILENCE_MS } from './limits.ts'
import { type Fetch, Line } from './line.ts'
import { type Named, understand } from './names.ts'
import { editOf, optionsOf } from './options.ts'
import { type Facts, factsOf } from './prices.ts'
import { promptOf } from './prompt.ts'
import { type Speak, speakerOf } from './providers.ts'
import { refuseWhatCannotBe } from './refusals.ts'
import { type Answer, hear, replyOf, unsupportedIn } from './reply.ts'

/** Opens models of the providers there are. All they send goes through the given `fetch`. */
export function makeOpenModel({ fetch }: { fetch: Fetch }): OpenModel {
  return async llm => {
    const named = understand(llm)
    refuseWhatCannotBe(llm, named)
    const [speak, facts] = await Promise.all([speakerOf(llm, named), factsOf(llm, named)])
    return new ProvidedModel(llm, named, speak, facts, fetch)
  }
}

class ProvidedModel implements Model {
  readonly name: string
  readonly contextWindow: number | undefined
  readonly sees: boolean
  readonly cost: Model['cost']
  readonly #llm: LLM
  readonly #named: Named
  readonly #fetch: Fetch
  /** The library's side of it, made once: that costs as much as a question. */
  readonly #speaker: ReturnType<Speak>
  /** The connection of the question that is being asked. */
  readonly #line = new AsyncLocalStorage<Line>()

  constructor(llm: LLM, named: Named, speak: Speak, facts: Facts, fetch: Fetch) {
    this.name = llm.model
    this.contextWindow = facts.contextWindow
    this.sees = sees(llm, named.id)
    this.cost = facts.cost
    this.#llm = llm
    this.#named = named
    this.#fetch = fetch
    this.#speaker = speak((url, init) => this.#line.getStore()!.fetch(url, init))
  }

  async ask(request: ModelRequest, listen: (delta: Delta) => void, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted()
    const began = performance.now()
    const firstMs = this.#llm.timeout ? this.#llm.timeout * 1000 : FIRST_WORD_MS
    const options = optionsOf(this.#llm, this.#named, request)
    using line = new Line({
      fetch: this.#fetch,
      firstMs,
      silenceMs: Math.min(firstMs, SILENCE_MS),
      edit: editOf(this.#llm, this.#named, options.maxOutputTokens),
      signal,
    })
    try {
      const answer = await line.whole(this.#line.run(line, () => this.#converse(request, options, listen, line)))
      if (!this.#llm.drop_params && answer.unsupported.length > 0)
        throw new ModelError('LLMBadRequestError', `${this.name} does not take ${answer.unsupported.join(', ')}`)
      const origin = this.#named.responses ? 'responses' : 'completion'
      const reply = replyOf(answer, origin, performance.now() - began)
      // An agent is told so, and goes on. Whoever asked for words only has nothing.
      if (request.tools.length === 0 && reply.text === '' && !reply.cut && !reply.refused)
        throw new ModelError('LLMNoResponseError', 'The model answered with nothing: try again')
      return this.#llm.enable_encrypted_reasoning ? reply : { ...reply, reasoningItem: null }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const { host } = new URL(this.#named.baseUrl)
      throw explain(line.signal.reason ?? error, { model: this.name, host, secrets: secretsOf(this.#llm) })
    }
  }

  async #converse(
    request: ModelRequest,
    options: ReturnType<typeof optionsOf>,
    listen: (delta: Delta) => void,
    line: Line,
  ): Promise<Answer> {
    const prompt = promptOf(request.messages, this.#named, {
      sees: this.sees,
      rereads: rereads(this.#llm, this.#named.id),
    })
    if (this.#llm.caching_prompt) markForCache(prompt, this.#named)
    const call = { ...options, prompt, abortSignal: line.signal }
    if (!this.#llm.stream) {
      const { content, finishReason, usage, response, warnings } = await this.#speaker.doGenerate(call)
      return { id: response?.id, content, finish: finishReason, usage, unsupported: unsupportedIn(warnings) }
    }
    const { stream } = await this.#speaker.doStream(call)
    return hear(stream, delta => {
      line.spoken()
      if (delta.content || delta.reasoning) listen(delta)
    })
  }
}

function secretsOf(llm: LLM): string[] {
  const { api_key, aws_access_key_id, aws_secret_access_key, aws_session_token, extra_headers } = llm
  const all = [
    api_key,
    aws_access_key_id,
    aws_secret_access_key,
    aws_session_token,
    ...Object.values(extra_headers ?? {}),
  ]
  return all.filter(secret => typeof secret === 'string').filter(Boolean)
}
