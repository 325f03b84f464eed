import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault, fault } from '../api/errors.ts'
import { type Input, isRaw, type RouteSpec } from '../api/route.ts'
import { canonicalUuid, newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { type Auth, credentialsOf, isLoopback, type Standing } from './auth.ts'
import { readJson } from './body.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { BODY_BYTES, REQUESTS_IN_FLIGHT } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { isOpenai, openaiError, openaiInvalid } from './openai-errors.ts'
import { judge, type OriginPolicy, provenanceOf } from './origin.ts'
import { Plain, Reply, type Result, SANDBOXED, Streamed } from './reply.ts'
import { Router } from './router.ts'
import { confine, withoutSandbox } from './scope.ts'
import { check, type Detail, Invalid, readQuery } from './validation.ts'

/** What a handler may know of its caller beside the declared input. */
export interface Call {
  standing: Standing
  /** The sandbox the caller is confined to, by its path or its key. */
  scope: string | undefined
  incoming: IncomingMessage
}

export type Handler<R extends RouteSpec> = (input: Input<R>, call: Call) => Result<R> | Promise<Result<R>>
export type Handlers<Routes> = { [K in keyof Routes]: Routes[K] extends RouteSpec ? Handler<Routes[K]> : never }

export interface Edge {
  auth: Auth
  origins: OriginPolicy
  log: Log
  metrics: Metrics
  hasSandbox(id: string): boolean
  /** When it is known who may do what. Until then only routes that are `early` are answered. */
  opened: Promise<void>
  /** True once the server is on its way out: new work is refused. */
  draining(): boolean
}

interface Entry {
  spec: RouteSpec
  handler: Handler<RouteSpec>
}

/** What goes out, whatever it was. */
interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | undefined
  stream?: Streamed
  errorId?: string
}

type Verdict = 'own' | 'foreign'

/** Match, authenticate, validate, call, map the error: once, for every route of the table. */
export class HttpServer {
  readonly #edge: Edge
  readonly #router = new Router<Entry>()
  #inFlight = 0

  constructor(edge: Edge) {
    this.#edge = edge
    edge.metrics.gauge('gantry_http_requests_in_flight', 'Requests being served.', () => this.#inFlight)
  }

  serve<Routes extends Record<string, RouteSpec>>(routes: Routes, handlers: Handlers<Routes>): void {
    for (const [name, spec] of Object.entries(routes)) {
      const handler = handlers[name] as Handler<RouteSpec> | undefined
      if (!handler) throw new Error(`The route ${name} has no handler`)
      this.#router.add(spec.method, spec.path, { spec, handler }, spec.rest)
    }
  }

  /** Answers a request. Never rejects. */
  async handle(incoming: IncomingMessage, out: ServerResponse): Promise<void> {
    const started = performance.now()
    const method = incoming.method ?? 'GET'
    const id = newId()
    const seen: { route?: string; conversation?: string } = {}
    this.#inFlight += 1
    const answer = await this.#answer(incoming, method, seen).catch(error => this.#failure(error, seen.route))
    this.#inFlight -= 1
    answer.headers['X-Request-Id'] = id
    if (this.#edge.draining()) answer.headers.Connection = 'close'
    answer.headers['X-Content-Type-Options'] = 'nosniff'
    // What is shut in a sandbox of its own may be framed: it cannot act as ours.
    if (answer.headers['Content-Security-Policy'] !== SANDBOXED) answer.headers['X-Frame-Options'] = 'DENY'
    send(out, method, answer)
    const seconds = (performance.now() - started) / 1000
    const route = seen.route ?? 'unmatched'
    this.#edge.metrics.request(method, route, answer.status, seconds)
    this.#edge.log[answer.status >= 500 ? 'error' : 'info']('request', {
      id,
      method,
      route,
      status: answer.status,
      ms: Math.round(seconds * 1e6) / 1000,
      ...(seen.conversation && { conversation: seen.conversation }),
      ...(answer.errorId && { error_id: answer.errorId }),
    })
  }

  async #answer(
    incoming: IncomingMessage,
    method: string,
    seen: { route?: string; conversation?: string },
  ): Promise<Answer> {
    const verdict = this.#judge(incoming, method)
    if (typeof verdict === 'object') {
      if (verdict.refused === 'foreign_origin' && isVisit(incoming, method)) return wayIn()
      throw refusal(verdict.refused)
    }
    const { origin } = incoming.headers
    const cors = verdict === 'foreign' && origin !== undefined ? corsHeaders(origin) : {}
    if (method === 'OPTIONS' && verdict === 'foreign')
      return { status: 204, headers: { ...cors, ...preflightHeaders(incoming) }, body: undefined }
    const answer = await this.#route(incoming, method, verdict, seen).catch(error => this.#failure(error, seen.route))
    Object.assign(answer.headers, cors)
    return answer
  }

  /**
   * Pictures and frames of a foreign page come without an origin, so that it cannot be asked for. They are let in to the files
   * of a workspace, provided they bring the cookie for those: it was given to a page that had the key.
   */
  #judge(incoming: IncomingMessage, method: string): ReturnType<typeof judge> {
    const verdict = judge(provenanceOf(incoming), this.#edge.origins)
    if (typeof verdict !== 'object' || verdict.refused !== 'foreign_origin') return verdict
    if (incoming.headers.origin !== undefined) return verdict
    const match = this.#router.match(method, withoutSandbox(target(incoming).path).path)
    const opens = 'value' in match && match.value.spec.access === 'workspace'
    return opens && this.#edge.auth.opensWorkspaces(credentialsOf(incoming)) ? 'foreign' : verdict
  }

  async #route(
    incoming: IncomingMessage,
    method: string,
    verdict: Verdict,
    seen: { route?: string; conversation?: string },
  ): Promise<Answer> {
    const { path: whole, search } = target(incoming)
    const { prefix, path, sandbox } = withoutSandbox(whole)
    const match = this.#router.match(method, path)
    if (!('value' in match)) return this.#elsewhere(method, prefix, path, search, match.allowed)
    const { spec, handler } = match.value
    seen.route = spec.path
    const conversation = canonicalUuid(match.params.conversation_id ?? '')
    if (conversation) seen.conversation = conversation
    if (spec.access !== 'free') {
      if (this.#edge.draining()) throw fault('shutting_down')
      if (this.#inFlight > REQUESTS_IN_FLIGHT) throw fault('overloaded')
    }
    if (!spec.early || sandbox !== undefined) await this.#edge.opened
    const standing = this.#admit(incoming, spec, verdict)
    const scope = this.#scope(incoming, spec, sandbox, standing)
    const input = await readInput(incoming, spec, match.params, search)
    return toAnswer(spec, await handler(input as never, { standing, scope, incoming }))
  }

  #admit(incoming: IncomingMessage, spec: RouteSpec, verdict: Verdict): Standing {
    const attempt = { ...credentialsOf(incoming), verdict, loopback: isLoopback(incoming.socket.remoteAddress) }
    const exposes = incoming.headers['x-expose-secrets'] !== undefined
    const standing = this.#edge.auth.admit(spec.access, attempt, exposes)
    if (!standing) throw fault('unauthorized')
    return standing
  }

  #scope(
    incoming: IncomingMessage,
    { access, confined }: RouteSpec,
    path: string | undefined,
    standing: Standing,
  ): string | undefined {
    if (access === 'free')
      return path === undefined ? undefined : confine({ path, key: undefined }, this.#edge.hasSandbox)
    const key = this.#edge.auth.scopeOf(credentialsOf(incoming), standing)
    const scope = confine({ path, key }, this.#edge.hasSandbox)
    if (scope === undefined || confined || access === 'sandbox') return scope
    throw path === undefined ? fault('forbidden', 'The key of a sandbox opens that sandbox alone') : fault('not_found')
  }

  /** Nothing there: perhaps it goes by the same name with or without a slash, or answers another method. */
  #elsewhere(method: string, prefix: string, path: string, search: string, allowed: string[]): Answer {
    if (allowed.length > 0) {
      const methods = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed
      const answer = this.#failure(fault('method_not_allowed'))
      answer.headers.Allow = methods.join(', ')
      return answer
    }
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
    if (!/^\/[^/]/.test(other) || !('value' in this.#router.match(method, other))) throw fault('not_found')
    return { status: 307, headers: { Location: prefix + other + search }, body: undefined }
  }

  #failure(error: unknown, route?: string): Answer {
    if (error instanceof Invalid)
      return json(422, isOpenai(route) ? openaiInvalid(error.details) : { detail: error.details })
    if (error instanceof Fault && error.status !== 500) {
      const { message, more, code, retryable, status } = error
      const body = { detail: more ? { message, ...more } : message, code, retryable }
      const answer = json(status, isOpenai(route) ? openaiError(error) : body)
      if (code === 'overloaded' || code === 'shutting_down') answer.headers['Retry-After'] = '1'
      if (error.retryAfter !== undefined) answer.headers['Retry-After'] = String(error.retryAfter)
      // The rest of the body is still on its way: the connection cannot be used again.
      if (code === 'body_too_large') answer.headers.Connection = 'close'
      return answer
    }
    const errorId = randomBytes(16).toString('hex')
    const text = error instanceof Error ? error.stack : String(error)
    this.#edge.log.error('fault', { error_id: errorId, route, error: text })
    const what =
      error instanceof Fault ? { detail: error.message, code: error.code } : { detail: 'Internal Server Error' }
    return { ...json(500, { ...what, error_id: errorId }), errorId }
  }
}

const REFUSALS = {
  bad_host: 'The Host header is missing or malformed',
  unknown_host: 'This server is not known by that name; allow it with --allow-host',
  foreign_origin: 'Pages of other sites may not talk to this server; open its address directly',
} as const

const refusal = (why: keyof typeof REFUSALS): Fault =>
  why === 'bad_host' ? fault('bad_request', REFUSALS[why]) : fault('forbidden', REFUSALS[why])

/** A person followed a link on some other site. They get in by one of ours. */
const isVisit = ({ headers }: IncomingMessage, method: string): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'

const wayIn = (): Answer => ({
  status: 403,
  headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': "default-src 'none'" },
  body: '<!doctype html><title>Gantry</title><p>You come from another site. <a href="/">Open Gantry</a></p>',
})

/** The path as it was sent, undecoded: what is authorised is what is routed. */
function target({ url = '/' }: IncomingMessage): { path: string; search: string } {
  const relative = url.startsWith('/') || !URL.canParse(url) ? url : url.slice(new URL(url).origin.length)
  const cut = relative.indexOf('?')
  return cut < 0 ? { path: relative, search: '' } : { path: relative.slice(0, cut), search: relative.slice(cut) }
}

async function readInput(
  incoming: IncomingMessage,
  spec: RouteSpec,
  params: Record<string, string>,
  search: string,
): Promise<Record<string, unknown>> {
  const details: Detail[] = []
  const input: Record<string, unknown> = {}
  if (spec.params) input.params = check(spec.params, params, 'path', details)
  if (spec.query) input.query = check(spec.query, readQuery(spec.query, new URLSearchParams(search)), 'query', details)
  if (spec.headers) input.headers = check(spec.headers, incoming.headers, 'header', details)
  if (spec.body) {
    const body = await readJson(incoming, spec.bodyLimit ?? BODY_BYTES)
    if (body !== undefined || !spec.bodyOptional) input.body = check(spec.body, body, 'body', details)
  }
  if (details.length > 0) throw new Invalid(details)
  return input
}

function toAnswer(spec: RouteSpec, result: unknown): Answer {
  if (result instanceof Plain)
    return { status: result.status, headers: { ...result.headers, 'Content-Type': result.type }, body: result.body }
  if (result instanceof Streamed) {
    const { status = 200, headers } = result.options
    return { status, headers: { ...headers, 'Content-Type': result.type }, body: undefined, stream: result }
  }
  const first = Number(Object.keys(spec.responses)[0])
  const { status, body, headers } = result instanceof Reply ? result : new Reply(first, result)
  const declared = spec.responses[status]
  const answer = declared === null || isRaw(declared) ? { status, headers: {}, body: undefined } : json(status, body)
  Object.assign(answer.headers, headers)
  return answer
}

const json = (status: number, body: unknown): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  body: JSON.stringify(body),
})

function send(out: ServerResponse, method: string, { status, headers, body, stream }: Answer): void {
  const wanted = !out.destroyed && method !== 'HEAD'
  if (!wanted) stream?.options.abandon?.()
  if (out.destroyed) return
  if (stream && wanted) {
    out.writeHead(status, { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no', ...headers })
    stream.open(out)
    return
  }
  if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body))
  out.writeHead(status, headers)
  out.end(method === 'HEAD' ? undefined : body)
}
