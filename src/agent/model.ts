import type { Message, MessageToolCall, ReasoningItemModel, Thinking } from '../api/common.ts'
import type { FailureKind } from '../api/events.ts'
import type { LLM } from '../api/llm.ts'

/**
 * What thinks. One contract suite (test/contract/model.ts) says what every provider must do.
 * A model never tries again by itself: whoever asks decides that (retry.ts), for it must be seen and be interruptible.
 */
export interface Model {
  /** As it was ordered: `provider/model`. */
  readonly name: string
  /** In tokens; undefined when nobody knows. */
  readonly contextWindow: number | undefined
  /** Whether it takes images. */
  readonly sees: boolean
  /**
   * One answer. `listen` hears it come, where the order asks for streaming. Rejects with a ModelError, or with the reason of the signal as
   * soon as that is aborted; the connection is closed then.
   */
  ask(request: ModelRequest, listen: (delta: Delta) => void, signal: AbortSignal): Promise<Reply>
  /** In USD; undefined when the price is not known. */
  cost(usage: Usage): number | undefined
}

/** Makes a model of an order with its secrets opened. Rejects with a ModelError that says what cannot be honoured, by name. */
export type OpenModel = (llm: LLM) => Promise<Model>

export interface ModelRequest {
  /** The first ones may be of the system. Every tool call in it has its result after it. */
  messages: readonly Message[]
  tools: readonly ToolSpec[]
  /** Below what the order allows. */
  maxOutputTokens?: number
}

/** A tool as a model is told of it. */
export interface ToolSpec {
  name: string
  description: string
  /** A JSON schema of type object. */
  parameters: Record<string, unknown>
}

export interface Delta {
  content?: string
  reasoning?: string
}

export interface Reply {
  /** The provider's, or one made up: never empty. */
  id: string
  text: string
  reasoning: string
  thinking: Thinking[]
  reasoningItem: ReasoningItemModel | null
  /** As the model wrote them: names and arguments may be rubbish. */
  calls: MessageToolCall[]
  /** The provider cut it short at a limit. */
  cut: boolean
  /** The provider withheld it. */
  refused: boolean
  usage: Usage
  /** Milliseconds from question to end. */
  latencyMs: number
}

/** In tokens. `prompt` includes what was read from and written to a cache; `completion` includes reasoning. */
export interface Usage {
  prompt: number
  completion: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
}

/** By the name it has on the wire. */
export type ModelErrorCode =
  | 'LLMAuthenticationError'
  | 'LLMRateLimitError'
  | 'LLMServiceUnavailableError'
  | 'LLMTimeoutError'
  | 'LLMBadRequestError'
  | 'LLMContextWindowExceedError'
  | 'LLMMalformedConversationHistoryError'
  | 'LLMNoResponseError'
  | 'LLMContentPolicyViolationError'
  /** The account has nothing left: waiting does not help. */
  | 'LLMQuotaExceededError'

export class ModelError extends Error {
  readonly code: ModelErrorCode
  /** Whether the same question may get an answer later. */
  readonly retryable: boolean
  /** What the provider asked to wait. */
  readonly retryAfterMs: number | undefined

  /** The message says what happened and what to do, and holds no secret. */
  constructor(code: ModelErrorCode, message: string, retryAfterMs?: number) {
    super(message)
    this.name = code
    this.code = code
    this.retryable = RETRYABLE.has(code)
    this.retryAfterMs = retryAfterMs
  }
}

const RETRYABLE: ReadonlySet<ModelErrorCode> = new Set([
  'LLMRateLimitError',
  'LLMServiceUnavailableError',
  'LLMTimeoutError',
  'LLMNoResponseError',
])

export const failureKind: Record<ModelErrorCode, FailureKind> = {
  LLMAuthenticationError: 'auth',
  LLMRateLimitError: 'rate_limit',
  LLMServiceUnavailableError: 'transient',
  LLMTimeoutError: 'transient',
  LLMBadRequestError: 'config',
  LLMContextWindowExceedError: 'agent_action',
  LLMMalformedConversationHistoryError: 'agent_action',
  LLMNoResponseError: 'transient',
  LLMContentPolicyViolationError: 'unknown',
  LLMQuotaExceededError: 'quota',
}
