import type { Fault } from '../api/errors.ts'
import type { Detail } from './validation.ts'

/** Whether a route speaks OpenAI's language. */
export const isOpenai = (route: string | undefined): boolean => route?.startsWith('/v1/') ?? false

/** An error as clients of OpenAI's interface look for it, beside the names under which all others find it. */
export const openaiError = ({ message, code, status, retryable }: Fault) => ({
  detail: message,
  code,
  retryable,
  error: { message, type: typeOf(status), param: null, code },
})

export function openaiInvalid(details: Detail[]) {
  const message = details[0]?.msg ?? 'Invalid request'
  return { detail: details, error: { message, type: typeOf(422), param: null, code: 'invalid_request' } }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'api_error'
}
