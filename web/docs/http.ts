import { explain, UNREACHABLE } from '../explain.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export class HttpError extends Error {
  readonly status: number

  constructor(status: number, words: string) {
    super(words)
    this.status = status
  }
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Calls the server; paths are relative to the page, so that it works behind a prefix too. */
export async function call<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { 'Content-Type': 'application/json' }
  }
  const response = await fetch(path, init).catch(() => {
    throw new HttpError(0, UNREACHABLE)
  })
  const text = await response.text()
  const answer = response.headers.get('Content-Type')?.includes('json') ? JSON.parse(text) : text
  if (!response.ok) throw new HttpError(response.status, explain(response.status, answer))
  return answer
}
