import { ModelError, type ModelErrorCode, type OpenModel } from '../agent/model.ts'
import type { LLM } from '../api/llm.ts'
import type { ValidateProfileResponse } from '../api/profiles.ts'

/** The least that every provider takes as a limit: some refuse less. */
const FEW_TOKENS = 16

/** Somebody waits in front of a form, and a model that says nothing for so long is reached at least. In milliseconds. */
const PATIENCE_MS = 30_000

/** They say nothing about whether the order is right. */
const PASSING: ReadonlySet<ModelErrorCode> = new Set(['LLMRateLimitError', 'LLMTimeoutError', 'LLMNoResponseError'])

/** Asks a model one short question, once. Takes the LLM with its secrets opened. */
export async function checkLlm(open: OpenModel, llm: LLM): Promise<ValidateProfileResponse> {
  const patience = AbortSignal.timeout(PATIENCE_MS)
  try {
    const model = await open({ ...llm, stream: false })
    await model.ask({ messages: [HELLO], tools: [], maxOutputTokens: FEW_TOKENS }, () => undefined, patience)
  } catch (error) {
    if (patience.aborted || (error instanceof ModelError && PASSING.has(error.code)))
      return { valid: true, error: null }
    if (error instanceof ModelError) return { valid: false, error: { type: error.code, message: error.message } }
    throw error
  }
  return { valid: true, error: null }
}

const HELLO = {
  role: 'user' as const,
  content: [{ type: 'text' as const, text: 'Say hello.', cache_prompt: false }],
  thinking_blocks: [],
}
