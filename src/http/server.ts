import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { getCookie } from 'hono/cookie'
import { cors } from 'hono/cors'
import { Fault, fault } from '../api/errors.ts'
import { type Input, isRaw, type Output, type RouteSpec } from '../api/route.ts'
import type { Log } from '../lib/log.ts'
import { type Auth, cookieName, isLoopback, type Standing } from './auth.ts'
import { readJson } from './body.ts'
import { BODY_BYTES, REQUESTS_IN_FLIGHT } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { judge, type OriginPolicy } from './origin.ts'
import { check, type Detail, Invalid, readQuery } from './validation.ts'

/** What a handler may know of its caller beside the declared input. */
export interface Call {
  standing: Standing
  host: string
  incoming: IncomingMessage
  /** Aborts when the caller goes away. */
  signal: AbortSignal
}

/** An answer with another status than the first declared one, or with headers. */
export class Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Record<string, string>

  constructor(status: number, body: T, headers: Record<string, string> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** JSON that is text already: events go out as they are stored, without being taken apart. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Result<R extends RouteSpec> = Output<R> | Reply<Output<R>> | JsonText | Response

export type Handler<R extends RouteSpec> = (input: Input<R>, call: Call) => Result<R> | Promise<Result<R>>

export type Handlers<Routes> = { [K in keyof Routes]: Routes[K] extends RouteSpec ? Handler<Routes[K]> : never }

export interface Edge {
  auth: Auth
  origins: OriginPolicy
  log: Log
  metrics: Metrics
  /** True once the server is on its way out: new work is refused. */
  draining(): boolean
}

type Env = { Bindings: HttpBindings; Variables: { route: string; verdict: 'own' | 'foreign'; errorId?: string } }
type Ctx = Context<Env>

/**
 * Match, authenticate, validate, call, map the error: once, for every route of the table.
 */
export function buildApp<Routes extends Record<string, RouteSpec>>(
  routes: Routes,
  handlers: Handlers<Routes>,
  edge: Edge,
) {
  const app = new Hono<Env>()
  let inFlight = 0
  edge.metrics.gauge('gantry_http_requests_in_flight', 'Requests being served.', () => inFlight)

  app.use(async (c, next) => {
    const started = performance.now()
    inFlight += 1
    try {
      await next()
    } finally {
      inFlight -= 1
      const route = c.get('route') ?? 'unmatched'
      const seconds = (performance.now() - started) / 1000
      edge.metrics.request(c.req.method, route, c.res.status, seconds)
      const level = c.res.status >= 500 ? 'error' : 'info'
      const errorId = c.get('errorId')
      edge.log[level]('request', {
        method: c.req.method,
        route,
        status: c.res.status,
        ms: Math.round(seconds * 1e6) / 1000,
        ...(errorId && { error_id: errorId }),
      })
    }
  })

  app.use(async (c, next) => {
    const verdict = judge(provenance(c.env.incoming), edge.origins)
    if (typeof verdict === 'object') throw refusal(verdict.refused)
    c.set('verdict', verdict)
    c.header('X-Content-Type-Options', 'nosniff')
    await next()
  })

  app.use(
    cors({
      origin: origin => (edge.origins.allows(origin) ? origin : null),
      credentials: true,
      allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposeHeaders: ['X-Request-Id', 'Retry-After'],
      maxAge: 600,
    }),
  )

  for (const [name, spec] of Object.entries(routes)) {
    const handler = handlers[name] as Handler<RouteSpec> | undefined
    if (!handler) throw new Error(`The route ${name} has no handler`)
    app.on(spec.method, honoPath(spec.path), async c => {
      c.set('route', spec.path)
      if (spec.access !== 'free') {
        if (edge.draining()) throw fault('shutting_down')
        if (inFlight > REQUESTS_IN_FLIGHT) throw fault('overloaded')
      }
      const standing = admit(c, spec, edge.auth)
      const input = await readInput(c, spec)
      const call: Call = {
        standing,
        host: c.req.header('host') ?? '',
        incoming: c.env.incoming,
        get signal() {
          return c.req.raw.signal
        },
      }
      return answer(c, spec, await handler(input as never, call))
    })
  }

  app.notFound(c => {
    const path = c.req.path
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
    if (other && methodsAt(routes, other).includes(c.req.method))
      return c.redirect(other + new URL(c.req.url).search, 307)
    const methods = methodsAt(routes, path)
    if (methods.length === 0) return errorResponse(c, fault('not_found'))
    c.header('Allow', methods.join(', '))
    return errorResponse(c, fault('method_not_allowed'))
  })

  app.onError((error, c) => errorResponse(c as Ctx, error))

  function errorResponse(c: Ctx, error: Error): Response {
    if (error instanceof Invalid) return c.json({ detail: error.details }, 422)
    if (error instanceof Fault) {
      if (error.code === 'overloaded' || error.code === 'shutting_down') c.header('Retry-After', '1')
      // The rest of the body is still on its way: the connection cannot be used again.
      if (error.code === 'body_too_large') c.header('Connection', 'close')
      return c.json({ detail: error.message, code: error.code, retryable: error.retryable }, error.status as 400)
    }
    const errorId = randomBytes(16).toString('hex')
    c.set('errorId', errorId)
    edge.log.error('fault', { error_id: errorId, route: c.get('route'), error: error.stack ?? String(error) })
    return c.json({ detail: 'Internal Server Error', error_id: errorId }, 500)
  }

  return app
}

function provenance(incoming: IncomingMessage) {
  return {
    host: incoming.headers.host,
    origin: incoming.headers.origin,
    fetchSite: incoming.headers['sec-fetch-site'] as string | undefined,
  }
}

const REFUSALS = {
  bad_host: 'The Host header is missing or malformed',
  unknown_host: 'This server is not known by that name; allow it with --allow-host',
  foreign_origin: 'Pages of other sites may not talk to this server; open its address directly',
} as const

function refusal(why: keyof typeof REFUSALS): Fault {
  return why === 'bad_host' ? fault('bad_request', REFUSALS[why]) : fault('forbidden', REFUSALS[why])
}

function admit(c: Ctx, spec: RouteSpec, auth: Auth): Standing {
  const host = c.req.header('host')
  const standing = auth.admit(
    spec.access,
    {
      key: c.req.header('x-session-api-key'),
      authorization: c.req.header('authorization'),
      cookie: getCookie(c, cookieName(host)),
      verdict: c.get('verdict'),
      loopback: isLoopback(c.env.incoming.socket.remoteAddress),
    },
    c.req.header('x-expose-secrets') !== undefined,
  )
  if (!standing) throw fault('unauthorized')
  return standing
}

async function readInput(c: Ctx, spec: RouteSpec): Promise<Record<string, unknown>> {
  const details: Detail[] = []
  const input: Record<string, unknown> = {}
  if (spec.params) input.params = check(spec.params, c.req.param(), 'path', details)
  if (spec.query)
    input.query = check(spec.query, readQuery(spec.query, new URL(c.req.url).searchParams), 'query', details)
  if (spec.headers) input.headers = check(spec.headers, c.req.header(), 'header', details)
  if (spec.body) {
    const body = await readJson(c.env.incoming, spec.bodyLimit ?? BODY_BYTES)
    if (body !== undefined || !spec.bodyOptional) input.body = check(spec.body, body, 'body', details)
  }
  if (details.length > 0) throw new Invalid(details)
  return input
}

function answer(c: Ctx, spec: RouteSpec, result: unknown): Response {
  if (result instanceof Response) return result
  if (result instanceof JsonText) return c.body(result.text, 200, { 'Content-Type': 'application/json' })
  const first = Number(Object.keys(spec.responses)[0])
  const { status, body, headers } = result instanceof Reply ? result : new Reply(first, result)
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  const declared = spec.responses[status]
  if (declared === null || isRaw(declared)) return c.body(null, status as 204)
  return c.json(body as object, status as 200)
}

const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

function methodsAt(routes: Record<string, RouteSpec>, path: string): string[] {
  const methods = Object.values(routes)
    .filter(spec => new RegExp(`^${spec.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .map(spec => spec.method as string)
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods
}
