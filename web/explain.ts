interface Issue {
  loc?: (string | number)[]
  msg?: string
}

/** An answer that is no success, in words. `detail` is a sentence or, for a body that does not fit, a list of places and complaints. */
export function explain(status: number, body: unknown): string {
  const detail = (body as { detail?: unknown } | null)?.detail
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return `The server answered with status ${status}`
  return detail
    .map(({ loc = [], msg = '' }: Issue) => [loc.slice(1).join('.'), msg].filter(Boolean).join(': '))
    .join('\n')
}

export const UNREACHABLE = 'The server cannot be reached'
