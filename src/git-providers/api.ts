import * as z from 'zod'
import { type ErrorCode, Fault, fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import { type CallLimits, REDIRECTS } from './limits.ts'

export interface ApiParts {
  provider: ProviderType
  /** Without a slash at its end. */
  base: string
  /** Holds the token: goes out as a header, and nowhere else. Contract: it can be one. */
  authorization: string
  accept: string
  fetch: typeof globalThis.fetch
  limits: CallLimits
}

export interface Answer<T> {
  data: T
  headers: Headers
}

type Query = Record<string, string | number | boolean | undefined>

/**
 * A provider's HTTP interface, with a token. Nothing a provider says goes into an error: it may repeat the token. The token goes to
 * the provider's own origin only, wherever it redirects to.
 */
export class Api {
  readonly #parts: ApiParts

  constructor(parts: ApiParts) {
    this.#parts = parts
  }

  async get<S extends z.ZodType>(path: string, query: Query, schema: S): Promise<Answer<z.output<S>>> {
    // Such a part would lead out of the place that was meant.
    if (path.split('/').some(part => part === '.' || part === '..')) throw this.#notFound()
    const url = new URL(`${this.#parts.base}${path}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const { response, text } = await this.#call(url, { method: 'GET' })
    return { data: this.#read(text, schema), headers: response.headers }
  }

  /** As `get`, but null for what is not there. */
  async find<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | null> {
    try {
      return (await this.get(path, {}, schema)).data
    } catch (error) {
      if (isFault(error, 'provider_not_found')) return null
      throw error
    }
  }

  /** A GraphQL query at an address of its own. */
  async graphql<S extends z.ZodType>(url: string, query: string, variables: object, data: S): Promise<z.output<S>> {
    const body = JSON.stringify({ query, variables })
    const { text } = await this.#call(new URL(url), { method: 'POST', body })
    const answer = this.#read(text, GraphqlAnswer)
    if (answer.errors?.some(({ type }) => type === 'RATE_LIMITED')) throw this.#rateLimited(undefined)
    const parsed = data.safeParse(answer.data)
    if (parsed.success) return parsed.data
    throw answer.errors?.some(({ type }) => type === 'NOT_FOUND') ? this.#notFound() : this.#rubbish()
  }

  async #call(url: URL, init: RequestInit, hops = 0): Promise<{ response: Response; text: string }> {
    const { provider, authorization, accept, limits } = this.#parts
    const headers = {
      Authorization: authorization,
      Accept: accept,
      'User-Agent': 'gantry',
      ...(init.body && { 'Content-Type': 'application/json' }),
    }
    const signal = AbortSignal.timeout(limits.ms)
    const { response, text } = await this.#exchange(url, { ...init, headers, signal, redirect: 'manual' }).catch(
      error => {
        throw fault('provider_unavailable', provider, signal.aborted ? 'did not answer in time' : whyBroken(error))
      },
    )
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null)
      return { response: this.#judge(response), text }
    const next = URL.parse(location, url)
    if (next?.origin !== url.origin || hops >= REDIRECTS || init.method !== 'GET')
      throw fault('provider_unavailable', provider, 'sends requests elsewhere: is its host right?')
    return this.#call(next, init, hops + 1)
  }

  /** Reading changes nothing: where the line broke it is done once more. */
  async #exchange(url: URL, init: RequestInit): Promise<{ response: Response; text: string }> {
    const once = async () => {
      const response = await this.#parts.fetch(url, init)
      return { response, text: await bounded(response, this.#parts.limits.bytes) }
    }
    return once().catch(error => {
      if (init.method !== 'GET' || !isReset(error)) throw error
      return once()
    })
  }

  #judge(response: Response): Response {
    const { provider } = this.#parts
    const { status, headers } = response
    if (response.ok) return response
    if (status === 401) throw fault('provider_unauthorized', provider)
    const wait = secondsToWait(headers, Date.now())
    if (status === 429 || (status === 403 && wait !== undefined)) throw this.#rateLimited(wait)
    if (status === 403) throw fault('provider_forbidden', provider)
    if (status === 404 || status === 410) throw this.#notFound()
    if (status === 400 || status === 422) throw fault('bad_request', `${provider} does not accept this request`)
    throw fault('provider_unavailable', provider, `answered with status ${status}`)
  }

  #rateLimited(seconds: number | undefined): Fault {
    const limited = fault('provider_rate_limited', this.#parts.provider)
    if (seconds !== undefined) limited.retryAfter = seconds
    return limited
  }

  #notFound(): Fault {
    return fault('provider_not_found', this.#parts.provider)
  }

  #rubbish(): Fault {
    return fault('provider_unavailable', this.#parts.provider, 'answered something that is not understood')
  }

  #read<S extends z.ZodType>(text: string, schema: S): z.output<S> {
    try {
      return schema.parse(JSON.parse(text))
    } catch {
      throw this.#rubbish()
    }
  }
}

export const isFault = (error: unknown, code: ErrorCode): boolean => error instanceof Fault && error.code === code

const GraphqlAnswer = z.object({
  data: z.unknown(),
  errors: z.array(z.object({ type: z.string().optional() })).optional(),
})

class TooLarge extends Error {}

async function bounded(response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > limit) throw new TooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const codesOf = (error: unknown): unknown[] => {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return [code, cause?.code]
}

const isReset = (error: unknown): boolean =>
  codesOf(error).some(code => code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')

function whyBroken(error: unknown): string {
  if (error instanceof TooLarge) return 'answered with more than was asked for'
  if (isReset(error)) return 'broke off the connection'
  return 'cannot be reached'
}

/** In a header of its own, or as the time at which a spent limit is full again. */
function secondsToWait(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')
  if (after !== null && /^\d{1,6}$/.test(after)) return Number(after)
  if (after !== null && Date.parse(after) > now) return Math.ceil((Date.parse(after) - now) / 1000)
  if ((headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining')) !== '0') return undefined
  const reset = Number(headers.get('x-ratelimit-reset') ?? headers.get('ratelimit-reset'))
  return Number.isFinite(reset) ? Math.max(1, Math.ceil(reset - now / 1000)) : undefined
}
