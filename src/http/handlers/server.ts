import type { IncomingMessage } from 'node:http'
import { fault } from '../../api/errors.ts'
import type { serverRoutes } from '../../api/routes/server.ts'
import type { ServerInfo } from '../../api/server.ts'
import { recently } from '../../lib/recently.ts'
import type { Store } from '../../store/store.ts'
import { type Auth, cookieName } from '../auth.ts'
import type { Metrics } from '../metrics.ts'
import { Plain, Reply } from '../reply.ts'
import type { Handlers } from '../server.ts'
import type { WebFiles } from '../web.ts'

export interface ServerParts {
  auth: Auth
  store: Store
  metrics: Metrics
  web: WebFiles
  info(): Promise<ServerInfo>
  /** The OpenAPI document, as JSON. */
  openapi(): string
}

const YEAR_SECONDS = 31_536_000

/** Readiness costs a write, and anybody may ask. */
const READINESS_MS = 500

export function serverHandlers({
  auth,
  store,
  metrics,
  web,
  info,
  openapi,
}: ServerParts): Handlers<typeof serverRoutes> {
  const readiness = recently(READINESS_MS, () => store.health())
  return {
    root: async ({ headers }, { incoming }) =>
      headers.accept?.includes('text/html') ? web.file('index.html', incoming.headers) : info(),
    alive: () => ({ status: 'ok' }),
    health: () => ({ status: 'ok' }),
    ready: async () => {
      const { writable, reason } = await readiness()
      return writable ? { status: 'ready' } : new Reply(503, { status: 'not ready', message: reason ?? 'cannot write' })
    },
    serverInfo: () => info(),
    metrics: () => new Plain('text/plain; version=0.0.4', metrics.render()),
    openapi: () => new Plain('application/json', openapi()),
    docs: (_, { incoming }) => web.file('docs.html', incoming.headers),
    redoc: (_, { incoming }) => web.file('docs.html', incoming.headers),
    webFile: ({ params }, { incoming }) => web.file(params.file, incoming.headers),
    favicon: (_, { incoming }) => web.file('icon.svg', incoming.headers),
    signIn: ({ body }, { incoming }) => {
      const session = auth.signIn(body)
      if (!session) throw fault('unauthorized')
      return new Reply(204, undefined, { 'Set-Cookie': cookie(incoming, session, YEAR_SECONDS) })
    },
    makeSignInLink: () => ({ token: auth.issueToken() }),
    signOut: (_, { incoming }) => new Reply(204, undefined, { 'Set-Cookie': cookie(incoming, '', 0) }),
  }
}

const cookie = ({ headers }: IncomingMessage, value: string, maxAge: number): string =>
  `${cookieName(headers.host)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict`
