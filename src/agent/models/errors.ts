import { MASK } from '../../api/secret.ts'
import { ModelError, type ModelErrorCode } from '../model.ts'
import { LONGEST_WORDS } from './limits.ts'
import { retryAfterMs } from './retry-after.ts'

/** What is known of a failure, whoever reports it: a library, a stream, the network. */
interface Failure {
  status: number | undefined
  /** In the provider's words, for people. */
  message: string
  /** All that it said, to look for signs in. */
  all: string
  /** Of the network. */
  code: string | undefined
  retryAfterMs: number | undefined
}

interface Context {
  /** Who was asked, for people. */
  model: string
  host: string
  /** Never in a message. */
  secrets: readonly string[]
}

/** Says what happened and what to do. */
export function explain(error: unknown, { model, host, secrets }: Context): ModelError {
  if (error instanceof ModelError) return error
  const failure = read(error)
  const [code, what] = verdict(failure, model, host)
  const words = secrets.reduce((text, secret) => text.replaceAll(secret, MASK), failure.message)
  return new ModelError(code, (words ? `${what}: ${words}` : what).slice(0, LONGEST_WORDS), failure.retryAfterMs)
}

function verdict(failure: Failure, model: string, host: string): [ModelErrorCode, string] {
  const { status, all } = failure
  if (status === undefined && failure.code) return network(failure.code, host)
  // The network gives every failure a code: without one it was never tried, because of what the address is.
  if (status === undefined && /^cannot connect to api/i.test(failure.message))
    return ['LLMBadRequestError', `${host} cannot be called: change base_url`]
  const sign = SIGNS.find(({ when, pattern }) => when(status) && pattern.test(all))
  // Waiting helps: then it is the rate, whatever the words say of plans and quotas.
  if (sign?.code === 'LLMQuotaExceededError' && failure.retryAfterMs !== undefined && !/insufficient_quota/.test(all))
    return ['LLMRateLimitError', `${host} asks for patience`]
  if (sign) return [sign.code, sign.say(model, host)]
  switch (status) {
    case 401:
    case 403:
      return ['LLMAuthenticationError', `${host} refused the key for ${model} (${status}): check it in the settings`]
    case 402:
      return ['LLMQuotaExceededError', `The account at ${host} has nothing left: check its plan and billing`]
    case 404:
      return ['LLMBadRequestError', `${host} does not know ${model} (404): check model and base_url in the settings`]
    case 408:
    case 504:
      return ['LLMTimeoutError', `${host} gave up waiting for ${model} (${status})`]
    case 413:
      return ['LLMContextWindowExceedError', `The conversation is too long for ${model}`]
    case 429:
      return ['LLMRateLimitError', `${host} asks for patience: too many requests (429)`]
  }
  if (status !== undefined && status >= 300 && status < 400)
    return ['LLMBadRequestError', `${host} sends elsewhere (${status}): set base_url to where it leads`]
  if (status !== undefined && status >= 400 && status < 500 && status !== 409)
    return ['LLMBadRequestError', `${host} refused the request for ${model} (${status})`]
  if (status !== undefined && status >= 500)
    return ['LLMServiceUnavailableError', `${host} cannot answer for ${model} now (${status})`]
  return ['LLMServiceUnavailableError', `The answer of ${model} could not be read`]
}

type When = (status: number | undefined) => boolean
const refused: When = status => status === undefined || (status >= 400 && status < 500 && status !== 429)
const any: When = () => true

/** How providers word what their status does not tell. The first that fits. */
const SIGNS: { code: ModelErrorCode; when: When; pattern: RegExp; say(model: string, host: string): string }[] = [
  {
    code: 'LLMQuotaExceededError',
    when: any,
    pattern:
      /insufficient[_ ](?:quota|funds|balance|credit)|exceeded your current quota|credit balance|out of credits|prepa(?:id|yment)|billing (?:is )?(?:not|hard)|budget has been exceeded|exceededbudget/i,
    say: (_, host) => `The account at ${host} has nothing left: check its plan and billing`,
  },
  {
    code: 'LLMContextWindowExceedError',
    when: refused,
    pattern:
      /context[_ ]?(?:length|window)|maximum context|prompt is too long|input is too long|(?:input )?token count.{0,40}exceed|exceeds? the (?:maximum|max|available|limit).{0,60}tokens|too many (?:input )?tokens|reduce the length|context limit|string too long/i,
    say: model => `The conversation is too long for ${model}`,
  },
  {
    code: 'LLMAuthenticationError',
    when: refused,
    pattern: /api key not valid|invalid (?:x-)?api[- ]key|incorrect api key|authentication_error|unauthenticated/i,
    say: (model, host) => `${host} refused the key for ${model}: check it in the settings`,
  },
  {
    code: 'LLMContentPolicyViolationError',
    when: refused,
    pattern: /content[_ -]?(?:policy|filter|management)|usage polic|safety (?:filter|system)|flagged (?:by|as|for)/i,
    say: (_, host) => `${host} withholds an answer because of its content policy: say it otherwise`,
  },
  {
    code: 'LLMMalformedConversationHistoryError',
    when: refused,
    pattern:
      /tool_use.{0,80}tool_result|tool_result.{0,80}tool_use|tool_call_id|tool_calls.{0,80}must be followed|function (?:response|call) (?:part|turn)|roles must alternate|(?:thinking|thought).{0,60}(?:block|signature)|no tool (?:call|output) found|required .reasoning. item/i,
    say: (_, host) => `${host} cannot follow the history of the conversation`,
  },
  {
    code: 'LLMServiceUnavailableError',
    when: status => status === undefined || status === 200,
    pattern: /overloaded|server_error|api_error|unavailable|internal/i,
    say: (model, host) => `${host} cannot answer for ${model} now`,
  },
  {
    code: 'LLMRateLimitError',
    when: status => status === undefined || status === 200,
    pattern: /rate[_ ]limit|resource_exhausted|too many requests/i,
    say: (_, host) => `${host} asks for patience`,
  },
]

function network(code: string, host: string): [ModelErrorCode, string] {
  const down = 'LLMServiceUnavailableError'
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) return [down, `No address is known for ${host}: check base_url and the network`]
  if (code === 'ECONNREFUSED') return [down, `Nobody answers at ${host}: check base_url, and whether it runs`]
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return [down, `${host} cannot be trusted (${code})`]
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return ['LLMTimeoutError', `${host} cannot be reached in time`]
  return [down, `The connection to ${host} broke (${code})`]
}

interface Reported {
  name?: string
  statusCode?: number
  status?: number
  message?: string
  responseBody?: string
  responseHeaders?: Record<string, string>
  data?: unknown
  code?: unknown
  cause?: unknown
  error?: Reported
}

function read(error: unknown): Failure {
  const chain: Reported[] = []
  for (let at = error; typeof at === 'object' && at !== null && chain.length < 8; at = (at as Reported).cause)
    chain.push(at as Reported)
  const first = chain[0] ?? { message: String(error) }
  const status = chain.map(link => link.statusCode).find(value => typeof value === 'number')
  const body = chain.map(link => link.responseBody).find(value => typeof value === 'string') ?? ''
  const message = first.message ?? first.error?.message ?? ''
  const code = chain
    .map(link => (link instanceof Error ? (link as Reported).code : undefined))
    .find(value => typeof value === 'string')
  const own = [message, body, first instanceof Error ? '' : JSON.stringify(first), JSON.stringify(first.data ?? '')]
  return {
    status: status === 200 && code ? undefined : status,
    message: UNREADABLE.has(first.name) ? '' : firstLine(message),
    all: own.join('\n'),
    code,
    retryAfterMs: retryAfterMs(chain.find(link => link.responseHeaders)?.responseHeaders ?? {}, body, Date.now()),
  }
}

/** Of libraries that could not read an answer: what they say is for those who wrote them. */
const UNREADABLE: ReadonlySet<string | undefined> = new Set([
  'TypeError',
  'SyntaxError',
  'AI_TypeValidationError',
  'AI_JSONParseError',
])

const firstLine = (text: string) => text.trim().split('\n', 1)[0] ?? ''
