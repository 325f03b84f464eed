import { COMPLAINT_CHARACTERS } from './limits.ts'

export type FailureKind = 'timeout' | 'connection' | 'unknown'

/** Why a server cannot be used, in words for a person. */
export class Failure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** The names of codes and errors by which a library tells that nothing was reached, or that it broke off. */
const CONNECTION =
  /CONNECTION_CLOSED|NOT_CONNECTED|SEND_FAILED|CLIENT_HTTP|SseError|ECONN|ENOTFOUND|EAI_AGAIN|EHOST|ENET|EPIPE|UND_ERR|sandbox_|fetch failed|SSE error/

/** Whatever a server, a transport or a library threw. */
export function explain(error: unknown): Failure {
  if (error instanceof Failure) return error
  const chain = causes(error)
  const status = chain.map(statusOf).find(found => found !== undefined)
  if (status === 401 || status === 403) return new Failure('connection', `it refuses our credentials (HTTP ${status})`)
  const deepest = chain.at(-1)
  const text = briefly(deepest?.message || String(deepest ?? error))
  const marks = chain.map(one => `${(one as { code?: unknown }).code} ${one.name} ${one.message}`).join(' ')
  if (chain.some(isTimeout)) return new Failure('timeout', 'it did not answer in time')
  return new Failure(
    status !== undefined || CONNECTION.test(marks) ? 'connection' : 'unknown',
    status === undefined ? text : `HTTP ${status}: ${text}`,
  )
}

export const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || (error as { code?: unknown }).code === 'REQUEST_TIMEOUT')

/** The status a server elsewhere answered with, where that is what went wrong. */
export function statusOf(error: unknown): number | undefined {
  const { status, code } = (error ?? {}) as { status?: unknown; code?: unknown }
  return [status, code].find(one => typeof one === 'number' && one >= 300 && one < 600) as number | undefined
}

/** In one line, and no longer than a person reads. */
export function briefly(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > COMPLAINT_CHARACTERS ? `${line.slice(0, COMPLAINT_CHARACTERS).toWellFormed()}…` : line
}

/** An error and what caused it, which is where the reason of a failed request is. */
function causes(error: unknown): Error[] {
  const found: Error[] = []
  for (let one = error; one instanceof Error && found.length < 5; one = one.cause) found.push(one)
  return found
}
