import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Routes, routes } from './api/routes/index.ts'
import type { ServerInfo } from './api/server.ts'
import type { Config } from './config.ts'
import { Conversations } from './conversation/conversations.ts'
import { Events } from './conversation/events.ts'
import { Feed } from './conversation/feed.ts'
import { Journal } from './conversation/journal.ts'
import { recover } from './conversation/recover.ts'
import { noAgent, Runner } from './conversation/runner.ts'
import { Auth, isLoopback, type Mode } from './http/auth.ts'
import { conversationHandlers } from './http/handlers/conversations.ts'
import { eventHandlers } from './http/handlers/events.ts'
import { serverHandlers } from './http/handlers/server.ts'
import { settingsHandlers } from './http/handlers/settings.ts'
import {
  DRAIN_MS,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  READER_LOW_BYTES,
  READER_PAGE,
  REQUEST_TIMEOUT_MS,
} from './http/limits.ts'
import { Metrics } from './http/metrics.ts'
import { createServer } from './http/node-http.ts'
import { openapi } from './http/openapi.ts'
import { originPolicy } from './http/origin.ts'
import { HttpServer } from './http/server.ts'
import { Sockets } from './http/sockets.ts'
import { Streams } from './http/stream.ts'
import { WebFiles } from './http/web.ts'
import type { Log } from './lib/log.ts'
import { keyFromFile } from './policy/keyfile.ts'
import { Vault } from './policy/secrets.ts'
import { ProcessBackend } from './sandbox/process.ts'
import { DEFAULT_SANDBOX, type Reach } from './sandbox/sandbox.ts'
import { SettingsService } from './settings/settings.ts'
import { Ownership } from './store/ownership.ts'
import { SqliteStore } from './store/sqlite.ts'
import { GANTRY_VERSION, INTERFACE_VERSION } from './version.ts'

export interface App {
  /** Where it is reached. */
  url: string
  mode: Mode
  /** The file with the key that was made; undefined when the key came from outside. */
  keyFile: string | undefined
  /** A link that signs a browser in, once. */
  signInLink(): string
  /** Finishes what is under way, tells readers to come back, and lets go of the data folder. */
  close(): Promise<void>
}

/** Where the built page lies: beside the bundle, or in `dist` when run from source. */
const WEB = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '../dist/web')
  : join(import.meta.dirname, 'web')

/** Picks the implementations, wires them, and listens. */
export async function startApp(config: Config, log: Log, pid: number): Promise<App> {
  const started = Date.now()
  const ownership = Ownership.take(config.data, { pid, since: new Date(started).toISOString() })
  const store = SqliteStore.open(join(config.data, 'gantry.db'), {
    synchronous: config.synchronous,
    onFailure: reason => log.error('storage', { reason }),
  })
  const keyFile = join(config.data, 'session-key')
  const [configured, ...others] = config.session_api_keys
  const mode: Mode = configured !== undefined || !bindsLoopback(config.host) ? 'key' : 'local'
  const auth = new Auth([configured ?? keyFromFile(keyFile), ...others], mode)
  const vault = new Vault(config.secret_key ?? keyFromFile(join(config.data, 'secret-key')))
  const origins = originPolicy(
    [hostname(), config.host, ...config.allow_hosts],
    config.allow_cors_origins,
    config.allow_cors_origin_regex,
  )

  const feed = new Feed()
  const journal = new Journal(store, feed)
  const runner = new Runner({ journal, feed, log, work: noAgent, snapshot: id => conversations.snapshot(id) })
  const conversations = new Conversations({ store, journal, feed, runner, vault, log })
  const events = new Events(store)
  const settings = new SettingsService(store, vault)
  const streams = new Streams({
    feed,
    eventsAfter: (no, seq) => events.after(no, seq, READER_PAGE, READER_LOW_BYTES),
    snapshot: id => conversations.snapshot(id),
  })

  const backend = new ProcessBackend(join(config.data, 'sandboxes'))
  const reach: Reach = async (id = DEFAULT_SANDBOX) => {
    const limits = { memoryBytes: 4e9, processes: 1000, cpus: 2, diskBytes: 1e10 }
    await backend.start({ id, workingDir: '/workspace', env: {}, limits, egress: { mode: 'none' }, grants: [] })
    return backend.sandbox(id)
  }
  void reach

  const metrics = new Metrics()
  let draining = false
  const table: Routes = config.open_metrics ? { ...routes, metrics: { ...routes.metrics, access: 'free' } } : routes
  const document = lazy(() => JSON.stringify(openapi(table, mode, GANTRY_VERSION)))
  const info = (): ServerInfo => serverInfo(started, feed.lastEventAt)
  const http = new HttpServer({ auth, origins, log, metrics, draining: () => draining })
  http.serve(table, {
    ...serverHandlers({ auth, store, metrics, web: new WebFiles(WEB), info, openapi: document }),
    ...conversationHandlers(conversations, auth),
    ...eventHandlers(conversations, events, streams),
    ...settingsHandlers(settings),
  })
  const sockets = new Sockets({ auth, origins, conversations, events, streams, log })
  metrics.gauge('gantry_sockets', 'Open WebSockets.', () => sockets.open)
  metrics.gauge('gantry_readers', 'Readers that follow a conversation.', () => streams.readers)
  metrics.gauge('gantry_uptime_seconds', 'Time since start.', () => (Date.now() - started) / 1000)

  const server = createServer(
    { shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket' },
    (incoming, out) => http.handle(incoming, out),
  )
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.on('upgrade', (request, stream, head) => sockets.upgrade(request, stream, head))
  const url = await listen(server, config).catch(async error => {
    await store.close()
    ownership.close()
    throw error
  })
  await recover(store, runner)

  return {
    url,
    mode,
    keyFile: configured === undefined ? keyFile : undefined,
    signInLink: () => `${url}/#token=${auth.issueToken()}`,
    close: async () => {
      draining = true
      const closed = new Promise(resolve => server.close(resolve))
      sockets.close()
      streams.close()
      server.closeIdleConnections()
      const impatience = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      await closed
      clearTimeout(impatience)
      await runner.close()
      await store.close()
      ownership.close()
    },
  }
}

async function listen(server: Server, { host, port }: Config): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return `http://${name === '0.0.0.0' || name === '[::]' ? 'localhost' : name}:${address.port}`
}

const bindsLoopback = (host: string): boolean => host === 'localhost' || isLoopback(host)

function serverInfo(started: number, lastEventAt: number): ServerInfo {
  const seconds = (since: number) => Math.floor((Date.now() - since) / 1000)
  return {
    uptime: seconds(started),
    idle_time: seconds(Math.max(started, lastEventAt)),
    title: 'Gantry',
    version: INTERFACE_VERSION,
    gantry_version: GANTRY_VERSION,
    sdk_version: INTERFACE_VERSION,
    tools_version: INTERFACE_VERSION,
    workspace_version: INTERFACE_VERSION,
    build_git_sha: 'unknown',
    build_git_ref: 'unknown',
    python_version: 'none',
    usable_tools: [],
    runtime_idle_timeout_seconds: null,
    capabilities: [],
    max_foreground_terminal_timeout_seconds: null,
    docs: '/docs',
    redoc: '/redoc',
  }
}

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
