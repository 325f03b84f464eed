import type { LLM } from '../../api/llm.ts'

// What is known of models by their names alone. An order's `capability_overrides` has the last word.

const REASON =
  /(?:^|[/.:_-])(?:o[1-9](?:$|-)|gpt-(?:[5-9]|oss)|codex|gemini-(?:2\.5|[3-9])|deepseek-(?:r|v[4-9]|v3\.[1-9])|grok-(?:3-mini|[4-9])|qwen3|qwq|magistral|glm-(?:4\.[5-9]|[5-9])|kimi-k|minimax-m)/i
const CLAUDE = /claude-/i
const OLD_CLAUDE = /claude-(?:instant|2|3-(?:haiku|opus|sonnet|5)|3\.5)/i

/** Whether it takes a reasoning effort. */
export const reasons = (id: string): boolean =>
  CLAUDE.test(id) ? !OLD_CLAUDE.test(id) : REASON.test(id) && !/gpt-5[\d.]*-chat/i.test(id)

export const isClaude = (id: string): boolean => CLAUDE.test(id)

const BLIND =
  /deepseek|gpt-3\.5|o[13]-mini|codestral|qwen[\w.-]*coder|kimi-k2(?!\.)|minimax-m|llama-?3\.[13]|glm-[4-9][\d.]*(?!v|[\d.])/i

/** Whether it takes images. */
export function sees(llm: LLM, id: string): boolean {
  if (llm.disable_vision) return false
  const said = llm.capability_overrides.supports_vision
  return said === undefined ? !BLIND.test(llm.model_canonical_name ?? id) : said === true
}

/** Whether it wants to read its own reasoning again: strict servers refuse the field, these degrade without it. */
export function rereads(llm: LLM, id: string): boolean {
  const said = llm.capability_overrides.send_reasoning_content
  return said === undefined ? /deepseek|kimi|minimax|glm|mimo/i.test(llm.model_canonical_name ?? id) : said === true
}

/** Whether OpenAI keeps its prompts cached for longer on request. */
export const keepsCache = (id: string): boolean =>
  /^gpt-(?:4\.1|5)/.test(id) && !/^gpt-(?:4\.1|5)-(?:mini|nano)/.test(id)

/** In tokens, where the price list does not know it. */
export const windowOf = (id: string): number | undefined => (/gemini-[2-9]/i.test(id) ? 1_048_576 : undefined)
