import type { Output, Request, RouteSpec } from './route.ts'
import type { Routes } from './routes/index.ts'
import { type Shape, shapes } from './shapes.ts'

/** An answer that is not a success. */
export class ClientError extends Error {
  readonly status: number
  readonly body: unknown

  constructor(operation: string, status: number, body: unknown) {
    super(`${operation}: ${status} ${JSON.stringify(body)}`)
    this.status = status
    this.body = body
  }
}

type Asked<R extends RouteSpec> = Request<R> & { signal?: AbortSignal }
type Arguments<R extends RouteSpec> = object extends Request<R> ? [request?: Asked<R>] : [request: Asked<R>]

/** One function a route, named and typed by the table. */
export type Client = { [K in keyof Routes]: (...request: Arguments<Routes[K]>) => Promise<Output<Routes[K]>> }

export interface ClientOptions {
  baseUrl: string
  /** The session key; leave it out where the server or a cookie does without. */
  key?: string
  fetch?: typeof fetch
}

type Values = Record<string, unknown>
interface AnyRequest {
  params?: Values
  query?: Values
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal
}

export function createClient({ baseUrl, key, fetch: send = fetch }: ClientOptions): Client {
  const call = async (name: string, spec: Shape, request: AnyRequest = {}) => {
    const isJson = request.body !== undefined && !(request.body instanceof FormData) && !spec.file
    const response = await send(address(baseUrl, spec, request), {
      method: spec.method,
      headers: {
        ...(isJson && { 'Content-Type': 'application/json' }),
        ...(spec.file && { 'Content-Type': spec.file }),
        ...(key !== undefined && { 'X-Session-API-Key': key }),
        ...request.headers,
      },
      ...(request.body !== undefined && { body: isJson ? JSON.stringify(request.body) : (request.body as BodyInit) }),
      ...(request.signal && { signal: request.signal }),
    })
    if (response.ok && spec.raw?.includes(response.status)) return response
    const text = await response.text()
    const isParsed = response.headers.get('Content-Type')?.startsWith('application/json')
    const body = isParsed ? JSON.parse(text) : text || undefined
    if (!response.ok) throw new ClientError(name, response.status, body)
    return body
  }
  const functions = Object.entries(shapes).map(([name, spec]) => [
    name,
    (request?: AnyRequest) => call(name, spec, request),
  ])
  return Object.fromEntries(functions) as Client
}

function address(baseUrl: string, spec: Shape, { params = {}, query = {} }: AnyRequest): string {
  const path = spec.path.replace(/\{(\w+)\}/g, (all, name) => {
    const text = encodeURIComponent(String(params[name]))
    return spec.rest && spec.path.endsWith(all) ? text.replaceAll('%2F', '/') : text
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null) search.append(name, String(item))
  return `${baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`
}
