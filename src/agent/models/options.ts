import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { LLM } from '../../api/llm.ts'
import type { ModelRequest } from '../model.ts'
import { isClaude, keepsCache, reasons } from './abilities.ts'
import type { Named } from './names.ts'

type Options = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal'>
type Effort = LLM['reasoning_effort']

/** All of a call but what is said. */
export function optionsOf(llm: LLM, named: Named, { tools, maxOutputTokens }: ModelRequest): Options {
  const effort = effortOf(llm, named)
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      inputSchema: parameters,
    })),
    ...(tools.length > 0 && { toolChoice: { type: 'auto' } }),
    maxOutputTokens: least(maxOutputTokens, llm.max_output_tokens),
    temperature: llm.temperature ?? undefined,
    topP: llm.top_p ?? undefined,
    // Servers that speak as OpenAI do take it in the body, where the library does not put it.
    topK: named.sdk === 'compatible' && !named.responses ? undefined : (llm.top_k ?? undefined),
    seed: llm.seed ?? undefined,
    reasoning: effort ?? undefined,
    headers: headersOf(llm, named),
    providerOptions: providerOptions(llm, named, effort),
  }
}

export function least(one: number | undefined | null, other: number | undefined | null): number | undefined {
  const given = [one, other].filter(value => typeof value === 'number')
  return given.length > 0 ? Math.min(...given) : undefined
}

/** Null where it is not asked for, or the model is not known to take one. */
function effortOf(llm: LLM, { sdk, id }: Named): Effort {
  const said = llm.capability_overrides.supports_reasoning_effort
  if (said !== undefined) return said === true ? llm.reasoning_effort : null
  const name = llm.model_canonical_name ?? id
  // A proxy would want Claude's sealed thoughts back, which this protocol has no place for.
  if (sdk === 'compatible' && isClaude(name)) return null
  return !llm.drop_params || reasons(name) ? llm.reasoning_effort : null
}

function headersOf(llm: LLM, { vendor }: Named): Record<string, string> {
  const router = { 'HTTP-Referer': llm.openrouter_site_url, 'X-Title': llm.openrouter_app_name }
  return { ...(vendor === 'openrouter' && router), ...llm.extra_headers }
}

function providerOptions(llm: LLM, named: Named, effort: Effort): SharedV4ProviderOptions {
  const { sdk, responses, id } = named
  const name = llm.model_canonical_name ?? id
  if (responses || sdk === 'openai' || sdk === 'azure') {
    const retention = sdk === 'openai' && keepsCache(name) ? llm.prompt_cache_retention : null
    return {
      [sdk === 'azure' ? 'azure' : 'openai']: {
        ...(retention && { promptCacheRetention: retention }),
        // Nothing is kept at the provider: what it needs again goes back sealed.
        ...(responses && { store: false, reasoningSummary: effort ? llm.reasoning_summary : null }),
        ...(llm.model_canonical_name && { forceReasoning: reasons(name) }),
      },
    }
  }
  if (sdk === 'compatible') return { compatible: llm.top_k === null ? {} : { top_k: llm.top_k } }
  // Arguments come checked then, and in a form that every proxy of it takes.
  if (sdk === 'anthropic') return { anthropic: { toolStreaming: false } }
  if (sdk === 'google' && effort && effort !== 'none') return { google: { thinkingConfig: { includeThoughts: true } } }
  if (sdk === 'bedrock' && Object.keys(llm.litellm_extra_body).length > 0)
    return { bedrock: { additionalModelRequestFields: llm.litellm_extra_body as Record<string, never> } }
  return {}
}

/** Changes to the body that no library has an option for. Undefined where there are none. */
export function editOf(llm: LLM, { sdk }: Named, maxOutputTokens: number | undefined) {
  const extra = llm.litellm_extra_body
  // Bedrock's requests are signed before they get here.
  if (sdk === 'bedrock') return undefined
  if (sdk !== 'anthropic' && Object.keys(extra).length === 0) return undefined
  return (body: Record<string, unknown>) => {
    const bounded = sdk === 'anthropic' ? withinBudget(body, llm.extended_thinking_budget, maxOutputTokens) : body
    return { ...bounded, ...extra }
  }
}

/** What Anthropic takes as the smallest budget for thinking. */
const SMALLEST_BUDGET = 1_024

/** The library adds thinking on top of the limit for output: here it is part of it, and leaves room for an answer. */
export function withinBudget(
  body: Record<string, unknown>,
  ceiling: number | null,
  maxOutputTokens: number | undefined,
): Record<string, unknown> {
  const thinking = body.thinking as { type: string; budget_tokens: number } | undefined
  if (thinking?.type !== 'enabled') return body
  const max_tokens = least(body.max_tokens as number, maxOutputTokens)!
  const budget_tokens = Math.min(
    thinking.budget_tokens,
    ceiling ?? Number.POSITIVE_INFINITY,
    Math.floor(max_tokens / 2),
  )
  const { thinking: _, ...rest } = body
  return budget_tokens < SMALLEST_BUDGET
    ? { ...rest, max_tokens }
    : { ...rest, max_tokens, thinking: { ...thinking, budget_tokens } }
}
