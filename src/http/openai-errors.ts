import type { Fault } from '../api/errors.ts'

/** An error as clients of OpenAI's interface look for it, beside the names under which all others find it. */
export const openaiError = ({ message, code, status, retryable }: Fault) => ({
  detail: message,
  code,
  retryable,
  error: { message, type: typeOf(status), param: null, code },
})

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'api_error'
}
