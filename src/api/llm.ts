import * as z from 'zod'
import { anyMap, orNull, secretMap, secretOrNull, textOrNull } from './common.ts'

const count = () => z.int().min(0)
const amount = () => z.number().min(0)

export const FallbackStrategy = z
  .object({ fallback_llms: z.array(z.string()), profile_store_dir: textOrNull })
  .meta({ id: 'FallbackStrategy' })
export type FallbackStrategy = z.output<typeof FallbackStrategy>

export const LLM = z
  .object({
    model: z.string().default('gpt-5.5'),
    api_key: secretOrNull,
    provider_connection_id: textOrNull,
    auth_type: z.enum(['api_key', 'subscription']).default('api_key'),
    subscription_vendor: orNull(z.literal('openai')),
    base_url: textOrNull,
    api_version: textOrNull,
    aws_access_key_id: secretOrNull,
    aws_secret_access_key: secretOrNull,
    aws_session_token: secretOrNull,
    aws_region_name: textOrNull,
    aws_profile_name: textOrNull,
    aws_role_name: textOrNull,
    aws_session_name: textOrNull,
    aws_bedrock_runtime_endpoint: textOrNull,
    openrouter_site_url: z.string().default('https://docs.all-hands.dev/'),
    openrouter_app_name: z.string().default('OpenHands'),
    num_retries: count().default(5),
    retry_multiplier: amount().default(8),
    retry_min_wait: count().default(8),
    retry_max_wait: count().default(64),
    timeout: count().nullable().default(300),
    max_message_chars: z.int().min(1).default(30_000),
    temperature: orNull(amount()),
    top_p: orNull(amount().max(1)),
    top_k: orNull(amount()),
    max_input_tokens: orNull(z.int().min(1)),
    max_output_tokens: orNull(z.int().min(1)),
    model_canonical_name: textOrNull,
    api_mode: z.enum(['auto', 'chat', 'responses']).default('auto'),
    capability_overrides: z.record(z.string(), z.union([z.boolean(), z.string()])).default({}),
    extra_headers: orNull(secretMap),
    input_cost_per_token: orNull(amount()),
    output_cost_per_token: orNull(amount()),
    ollama_base_url: textOrNull,
    stream: z.boolean().default(false),
    drop_params: z.boolean().default(true),
    modify_params: z.boolean().default(true),
    disable_vision: orNull(z.boolean()),
    disable_stop_word: z.boolean().nullable().default(false),
    caching_prompt: z.boolean().default(true),
    log_completions: z.boolean().default(false),
    log_completions_folder: z.string().default('logs/completions'),
    custom_tokenizer: textOrNull,
    native_tool_calling: z.boolean().default(true),
    force_string_serializer: orNull(z.boolean()),
    inline_image_urls: orNull(z.boolean()),
    reasoning_effort: z.enum(['low', 'medium', 'high', 'xhigh', 'none']).nullable().default('high'),
    reasoning_summary: orNull(z.enum(['auto', 'concise', 'detailed'])),
    enable_encrypted_reasoning: z.boolean().default(true),
    prompt_cache_retention: z.string().nullable().default('24h'),
    extended_thinking_budget: z.int().nullable().default(200_000),
    seed: orNull(z.int()),
    usage_id: z.string().default('default'),
    litellm_extra_body: anyMap.default({}),
    /** Taken but never shown. */
    fallback_strategy: FallbackStrategy.nullish(),
    /** Shown but never taken: it follows from `auth_type`. */
    is_subscription: z.boolean().default(false),
  })
  .overwrite(llm => ({ ...llm, is_subscription: llm.auth_type === 'subscription' }))
  .meta({ id: 'LLM' })
export type LLM = z.output<typeof LLM>

export const TokenUsage = z
  .object({
    model: z.string(),
    prompt_tokens: count(),
    completion_tokens: count(),
    cache_read_tokens: count(),
    cache_write_tokens: count(),
    reasoning_tokens: count(),
    context_window: count(),
    per_turn_token: count(),
    response_id: z.string(),
  })
  .meta({ id: 'TokenUsage' })
export type TokenUsage = z.output<typeof TokenUsage>

export const Cost = z
  .object({
    model: z.string(),
    cost: amount(),
    /** Unix seconds. */
    timestamp: z.number(),
  })
  .meta({ id: 'Cost' })
export type Cost = z.output<typeof Cost>

export const ResponseLatency = z
  .object({ model: z.string(), latency: amount(), response_id: z.string() })
  .meta({ id: 'ResponseLatency' })
export type ResponseLatency = z.output<typeof ResponseLatency>

const snapshot = {
  model_name: z.string(),
  accumulated_cost: amount(),
  max_budget_per_task: z.number().nullable(),
  accumulated_token_usage: TokenUsage.nullable(),
}

export const MetricsSnapshot = z.object(snapshot).meta({ id: 'MetricsSnapshot' })
export type MetricsSnapshot = z.output<typeof MetricsSnapshot>

export const Metrics = z
  .object({
    ...snapshot,
    costs: z.array(Cost),
    response_latencies: z.array(ResponseLatency),
    token_usages: z.array(TokenUsage),
  })
  .meta({ id: 'Metrics' })
export type Metrics = z.output<typeof Metrics>

/** By `usage_id`. A `stats` state update carries snapshots in the same place. */
export const ConversationStats = z
  .object({ usage_to_metrics: z.record(z.string(), Metrics) })
  .meta({ id: 'ConversationStats' })
export type ConversationStats = z.output<typeof ConversationStats>
