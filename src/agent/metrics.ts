import type { Metrics, MetricsSnapshot, TokenUsage } from '../api/llm.ts'
import type { Reply } from './model.ts'

/** How many single calls are listed: the sums are of all of them. They are stored with every step, so they are few. */
const LISTED = 10

export interface Called {
  model: string
  contextWindow: number | undefined
  reply: Pick<Reply, 'id' | 'usage' | 'latencyMs'>
  /** In USD; undefined when the price is not known, and then not counted. */
  cost: number | undefined
  /** Unix seconds. */
  at: number
}

const NONE: TokenUsage = {
  model: '',
  prompt_tokens: 0,
  completion_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  context_window: 0,
  per_turn_token: 0,
  response_id: '',
}

/** The metrics after one more call. */
export function metered(old: Metrics | undefined, { model, contextWindow = 0, reply, cost, at }: Called): Metrics {
  const { usage, id } = reply
  const one: TokenUsage = {
    model,
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    reasoning_tokens: usage.reasoning,
    context_window: contextWindow,
    per_turn_token: usage.prompt + usage.completion,
    response_id: id,
  }
  const sum = old?.accumulated_token_usage ?? NONE
  return {
    model_name: model,
    accumulated_cost: (old?.accumulated_cost ?? 0) + (cost ?? 0),
    max_budget_per_task: old?.max_budget_per_task ?? null,
    accumulated_token_usage: {
      model,
      prompt_tokens: sum.prompt_tokens + one.prompt_tokens,
      completion_tokens: sum.completion_tokens + one.completion_tokens,
      cache_read_tokens: sum.cache_read_tokens + one.cache_read_tokens,
      cache_write_tokens: sum.cache_write_tokens + one.cache_write_tokens,
      reasoning_tokens: sum.reasoning_tokens + one.reasoning_tokens,
      context_window: Math.max(sum.context_window, contextWindow),
      per_turn_token: one.per_turn_token,
      response_id: '',
    },
    costs: [...(old?.costs ?? []), ...(cost === undefined ? [] : [{ model, cost, timestamp: at }])].slice(-LISTED),
    response_latencies: [
      ...(old?.response_latencies ?? []),
      { model, latency: reply.latencyMs / 1000, response_id: id },
    ].slice(-LISTED),
    token_usages: [...(old?.token_usages ?? []), one].slice(-LISTED),
  }
}

/** What a state update carries: the sums alone. */
export const sums = ({ costs, response_latencies, token_usages, ...snapshot }: Metrics): MetricsSnapshot => snapshot
