export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Calls the server; paths are relative to the page, so that it works behind a prefix too. */
export type Api = <T>(method: Method, path: string, body?: unknown) => Promise<T>

export class HttpError extends Error {
  readonly status: number

  constructor(status: number, words: string) {
    super(words)
    this.status = status
  }
}

interface Issue {
  loc?: (string | number)[]
  msg?: string
}

/** `detail` is a sentence or, for a body that does not fit, a list of places and complaints. */
function explain(status: number, body: unknown): string {
  const detail = (body as { detail?: unknown } | null)?.detail
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return `The server answered with status ${status}`
  return detail
    .map(({ loc = [], msg = '' }: Issue) => [loc.slice(1).join('.'), msg].filter(Boolean).join(': '))
    .join('\n')
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export async function call<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { 'Content-Type': 'application/json' }
  }
  const response = await fetch(path, init).catch(() => {
    throw new HttpError(0, 'The server cannot be reached')
  })
  const text = await response.text()
  const answer = response.headers.get('Content-Type')?.includes('json') ? JSON.parse(text) : text
  if (!response.ok) throw new HttpError(response.status, explain(response.status, answer))
  return answer
}

/** An `Api` that asks for the key when the server wants one, then tries once more. */
export const signedIn =
  (askForKey: () => Promise<boolean>): Api =>
  async (method, path, body) => {
    try {
      return await call(method, path, body)
    } catch (error) {
      if (!(error instanceof HttpError && error.status === 401 && (await askForKey()))) throw error
      return call(method, path, body)
    }
  }
