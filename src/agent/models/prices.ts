import type { LLM } from '../../api/llm.ts'
import type { Usage } from '../model.ts'
import { windowOf } from './abilities.ts'
import type { Named } from './names.ts'

export interface Facts {
  /** In tokens. */
  contextWindow: number | undefined
  /** In USD. */
  cost(usage: Usage): number | undefined
}

/** Under which name the price list knows a provider; null for those that run on one's own machine and cost nothing known. */
const LISTED: Record<string, string | null> = {
  bedrock: 'aws',
  fireworks_ai: 'fireworks',
  gemini: 'google',
  hosted_vllm: null,
  lm_studio: null,
  ollama: null,
  ollama_chat: null,
  together_ai: 'together',
  vllm: null,
  xai: 'x-ai',
}

/** What the order says of price and size, else what the price list knows. */
export async function factsOf(llm: LLM, { vendor, id }: Named): Promise<Facts> {
  const { input_cost_per_token: input, output_cost_per_token: output } = llm
  const name = llm.model_canonical_name?.split('/').at(-1) ?? id
  const { calcPrice } = await import('@pydantic/genai-prices')
  const price = (usage: Usage) => {
    if (LISTED[vendor] === null) return null
    const tokens = {
      input_tokens: usage.prompt,
      output_tokens: usage.completion,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    }
    try {
      return calcPrice(tokens, name, { providerId: LISTED[vendor] ?? vendor }) ?? calcPrice(tokens, name)
    } catch {
      return null
    }
  }
  const nothing: Usage = { prompt: 0, completion: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  /** To look for a name among all providers' patterns costs more than to price an answer: what is not there is not sought again. */
  const known = price(nothing)
  return {
    contextWindow: llm.max_input_tokens ?? known?.model.context_window ?? windowOf(name),
    cost: usage => {
      if (input !== null || output !== null) return usage.prompt * (input ?? 0) + usage.completion * (output ?? 0)
      return known ? price(usage)?.total_price : undefined
    },
  }
}
