import { ClientError } from '../api/client.ts'
import { BadUsage } from '../lib/usage.ts'
import { exit, Failure } from './io.ts'
import { oneLine, safe } from './text.ts'

/** A line has to hold it. */
const LONGEST = 600

/** What went wrong, for a person; what nobody foresaw is thrown on. */
export function explain(error: unknown): { message: string; code: number } {
  if (error instanceof Failure) return { message: safe(error.message), code: error.code }
  if (error instanceof BadUsage) return { message: safe(error.message), code: exit.usage }
  if (error instanceof ClientError) return { message: refusal(error), code: exit.error }
  // What `fetch` throws when nobody answers.
  if (error instanceof TypeError && error.cause instanceof Error)
    return { message: `the server does not answer: ${reasonOf(error.cause)}`, code: exit.error }
  if (error instanceof Error && 'code' in error && 'syscall' in error)
    return { message: safe(refused(error as NodeJS.ErrnoException)), code: exit.error }
  throw error
}

/** The file first, as people read it, without the names that the system has for itself. */
const refused = ({ message, path }: NodeJS.ErrnoException): string =>
  path === undefined ? message : `${path}: ${message.replace(/^\w+: |, \w+ '.*$/gs, '')}`

const reasonOf = (cause: Error): string =>
  cause.message || (cause instanceof AggregateError ? cause.errors.map(one => one.message).join(', ') : cause.name)

function refusal({ status, body }: ClientError): string {
  if (status === 401) return 'the server wants its key: --key-file FILE, or GANTRY_KEY in the environment'
  const detail = (body as { detail?: unknown } | undefined)?.detail ?? body
  const text = Array.isArray(detail)
    ? detail.map(({ loc, msg }) => `${(loc ?? []).slice(1).join('.')}: ${msg}`).join('; ')
    : typeof detail === 'string'
      ? detail
      : JSON.stringify(detail ?? `status ${status}`)
  return oneLine(safe(text), LONGEST)
}
