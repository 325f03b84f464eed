/** One answer of a scripted model, said once for all protocols. */
export interface Turn {
  text?: string
  /** As plain text, where a protocol has that. */
  reasoning?: string
  /** As blocks that have to come back: with a signature, an encrypted item, or (redacted) as data alone. */
  thinking?: ({ thinking: string; signature?: string } | { redacted: string })[]
  calls?: Call[]
  usage?: Partial<Tokens>
  /** Instead of what follows from the rest, in the protocol's own word. */
  finish?: string
  /** In how many deltas text and arguments are cut. */
  chunks?: number
  /** An error instead of an answer, in the provider's own words. */
  fault?: Fault
  status?: number
  headers?: Record<string, string>
  errorBody?: unknown
  /** Waited for before anything is sent. */
  delay?: Promise<unknown> | number
  /** Goes silent for ever, before the first byte or in the middle. */
  stall?: 'before' | 'middle'
  /** Breaks off in the middle: the connection reset, or the body ended as if it were whole. */
  cut?: 'reset' | 'end'
  /** Sent as it is instead of the body. */
  raw?: string
  /** So many bytes at a time, so many milliseconds apart. */
  trickle?: { bytes: number; ms: number }
}

export interface Call {
  name: string
  /** A string is sent as it is, and may be rubbish. */
  arguments: object | string
  id?: string
}

/** `prompt` includes what was read from and written to a cache, `completion` includes reasoning. */
export interface Tokens {
  prompt: number
  completion: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
}

export const say = (text: string, more: Turn = {}): Turn => ({ text, ...more })
export const call = (name: string, args: object | string, more: Turn = {}): Turn => ({
  calls: [{ name, arguments: args }],
  ...more,
})
/** Calls the tool that ends a run. */
export const finish = (message = 'done', more: Turn = {}): Turn => call('finish', { message }, more)
export const fail = (fault: Fault, more: Turn = {}): Turn => ({ fault, ...more })

export type Fault = keyof typeof FAULTS
export type Family = 'openai' | 'anthropic' | 'gemini'
type Answer = [status: number, kind: string, message: string, code?: string]

/** What providers answer, as they word it. */
const FAULTS = {
  auth: {
    openai: [401, 'invalid_request_error', 'Incorrect API key provided: sk-test.', 'invalid_api_key'],
    anthropic: [401, 'authentication_error', 'invalid x-api-key'],
    gemini: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  },
  forbidden: {
    openai: [403, 'insufficient_permissions', 'You do not have access to this model.', 'permission_denied'],
    anthropic: [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
    gemini: [403, 'PERMISSION_DENIED', 'Permission denied on resource.'],
  },
  rate: {
    openai: [429, 'requests', 'Rate limit reached for requests. Please try again later.', 'rate_limit_exceeded'],
    anthropic: [429, 'rate_limit_error', 'This request would exceed the rate limit for your organization.'],
    gemini: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check rate limits). Please retry later.'],
  },
  quota: {
    openai: [
      429,
      'insufficient_quota',
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
    ],
    anthropic: [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.',
    ],
    gemini: [402, 'FAILED_PRECONDITION', 'Billing is not enabled: your prepayment credits are depleted.'],
  },
  context: {
    openai: [
      400,
      'invalid_request_error',
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      'context_length_exceeded',
    ],
    anthropic: [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
    gemini: [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ],
  },
  policy: {
    openai: [400, 'invalid_request_error', 'Invalid prompt: flagged by our usage policy.', 'content_policy_violation'],
    anthropic: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
    gemini: [400, 'INVALID_ARGUMENT', 'The request was blocked by the safety filters (content policy).'],
  },
  history: {
    openai: [
      400,
      'invalid_request_error',
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ],
    anthropic: [
      400,
      'invalid_request_error',
      'messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
    ],
    gemini: [
      400,
      'INVALID_ARGUMENT',
      'Please ensure that the number of function response parts is equal to the number of function call parts.',
    ],
  },
  unknownModel: {
    openai: [404, 'invalid_request_error', 'The model `scripted` does not exist.', 'model_not_found'],
    anthropic: [404, 'not_found_error', 'model: scripted'],
    gemini: [404, 'NOT_FOUND', 'models/scripted is not found for API version v1beta.'],
  },
  overloaded: {
    openai: [503, 'server_error', 'The engine is currently overloaded, please try again later.'],
    anthropic: [529, 'overloaded_error', 'Overloaded'],
    gemini: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  },
  internal: {
    openai: [500, 'server_error', 'The server had an error while processing your request.'],
    anthropic: [500, 'api_error', 'Internal server error'],
    gemini: [500, 'INTERNAL', 'An internal error has occurred.'],
  },
} satisfies Record<string, Record<Family, Answer>>

/** The status and body of an error as a family of providers would give them. */
export function faultOf(turn: Turn, family: Family): { status: number; body: unknown } | undefined {
  if (turn.fault === undefined && (turn.status === undefined || turn.status < 400)) return undefined
  const table: Record<string, Record<Family, Answer>> = FAULTS
  const [status, kind, message, code = null] = turn.fault
    ? table[turn.fault]![family]
    : ([turn.status!, 'error', `Scripted status ${turn.status}`] as Answer)
  return { status: turn.status ?? status, body: turn.errorBody ?? BODIES[family](status, kind, message, code) }
}

const BODIES: Record<Family, (status: number, kind: string, message: string, code: string | null) => unknown> = {
  openai: (_, type, message, code) => ({ error: { message, type, param: null, code } }),
  anthropic: (_, type, message) => ({ type: 'error', error: { type, message }, request_id: 'req_scripted' }),
  gemini: (code, status, message) => ({ error: { code, message, status } }),
}
