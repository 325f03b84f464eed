import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { USABLE_TOOLS } from './agent/toolbox.ts'
import { fault } from './api/errors.ts'
import { type Routes, routes } from './api/routes/index.ts'
import type { ServerInfo } from './api/server.ts'
import { openBrain } from './brain.ts'
import type { Config } from './config.ts'
import type { Caution } from './conversation/conversations.ts'
import { Feed } from './conversation/feed.ts'
import { recover } from './conversation/recover.ts'
import { Trajectories } from './conversation/trajectory.ts'
import { openDesk } from './desk.ts'
import { openHands } from './hands.ts'
import { Auth, isLoopback, type Mode } from './http/auth.ts'
import { allHandlers } from './http/handlers/index.ts'
import {
  BASH_READERS,
  DRAIN_MS,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  READER_LOW_BYTES,
  READER_PAGE,
  REQUEST_TIMEOUT_MS,
} from './http/limits.ts'
import { Metrics } from './http/metrics.ts'
import { openapi } from './http/openapi.ts'
import { originPolicy } from './http/origin.ts'
import { Ports } from './http/ports.ts'
import { allRooms } from './http/rooms.ts'
import { HttpServer } from './http/server.ts'
import { Sockets } from './http/sockets.ts'
import { Streams } from './http/stream.ts'
import { WebFiles } from './http/web.ts'
import type { Log } from './lib/log.ts'
import { createServer } from './lib/node-http.ts'
import { keyFromFile } from './policy/keyfile.ts'
import { Vault } from './policy/secrets.ts'
import { Bash } from './sandbox/bash.ts'
import { BashLog } from './sandbox/bash-log.ts'
import { guardedFetch } from './sandbox/egress/fetch.ts'
import { Git } from './sandbox/git.ts'
import { Keeper } from './sandbox/keeper.ts'
import { REST_MS } from './sandbox/limits.ts'
import { DEFAULT_SANDBOX, type Grant, type Order, type Reach } from './sandbox/sandbox.ts'
import { Sandboxes } from './sandbox/sandboxes.ts'
import { egressOf, limitsOf, type SandboxSpec } from './sandbox/specs.ts'
import { Terminals } from './sandbox/terminals.ts'
import { VsCode } from './sandbox/vscode.ts'
import { AppProfiles } from './settings/app-profiles.ts'
import { Approvals } from './settings/approvals.ts'
import { SettingsService } from './settings/settings.ts'
import { SkillLibrary } from './settings/skill-library.ts'
import { Users } from './settings/users.ts'
import { Ownership } from './store/ownership.ts'
import { SqliteStore } from './store/sqlite.ts'
import type { BashRecord } from './store/store.ts'
import { GANTRY_VERSION, INTERFACE_VERSION } from './version.ts'
import { Webhooks } from './webhooks/webhooks.ts'
import { Workspaces } from './workspaces/workspaces.ts'

export interface App {
  /** Where it is reached. */
  url: string
  mode: Mode
  /** What a person must know about the walls around commands; undefined when they stand. */
  warning: string | undefined
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

/** Where nothing stands between commands and this machine, what could do harm is asked for. */
const UNISOLATED: Caution = {
  confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
  security_analyzer: { kind: 'PolicyRailSecurityAnalyzer' },
}

const HOW_TO_GRANT = 'Start the server with --workspace and its path, or add it as a workspace with the key.'

/**
 * Picks the implementations, wires them, and listens. What the walls are made of is found out while it listens already: until that
 * is known nothing is judged, and nothing but whether the process lives is told.
 */
export async function startApp(config: Config, log: Log, pid: number): Promise<App> {
  const started = Date.now()
  const ownership = Ownership.take(config.data, { pid, since: new Date(started).toISOString() })
  // Being tried out while the database is opened: most of it is waiting for other processes.
  const opening = openHands(config, log)
  opening.catch(() => undefined)
  const store = SqliteStore.open(join(config.data, 'gantry.db'), {
    synchronous: config.synchronous,
    onFailure: reason => log.error('storage', { reason }),
  })
  const keyFile = join(config.data, 'session-key')
  const [configured, ...others] = config.session_api_keys
  const vault = new Vault(config.secret_key ?? keyFromFile(join(config.data, 'secret-key')))
  const origins = originPolicy(
    [hostname(), config.host, ...config.allow_hosts],
    config.allow_cors_origins,
    config.allow_cors_origin_regex,
  )

  const hands = await opening
  const opened = Promise.withResolvers<void>()

  const checkFolder = async (folder: string, sandbox: string) => {
    if (sandbox !== DEFAULT_SANDBOX || !(await hands.proved).isolated) return
    if (await hands.grants.isWithheld(folder, await workspaces.paths()))
      throw fault('invalid_request', `${folder} is a folder of this machine that no sandbox may see. ${HOW_TO_GRANT}`)
  }
  const workspaces = new Workspaces(store, () => sandboxes.renew())
  const settings = new SettingsService(store, vault)
  const approvals = new Approvals(store)
  const approved = () => approvals.all()
  const brain = openBrain({
    store,
    vault,
    settings,
    log,
    reach: id => sandboxes.reach(id),
    isRunning: id => sandboxes.isRunning(id),
    workingDirOf: id => sandboxes.workingDirOf(id),
    data: config.data,
    marketplaces: config.registered_marketplaces,
    approved,
    left: sandbox => desk.lodgings.leave(sandbox),
    caution: async () => ((await hands.proved).isolated ? {} : UNISOLATED),
    checkFolder,
  })
  const { feed, runner, conversations, events, gitProviders } = brain
  const streams = new Streams({
    feed,
    eventsAfter: ({ no }, seq) => events.after(no, seq, READER_PAGE, READER_LOW_BYTES),
    snapshot: id => conversations.snapshot(id),
  })

  const keeper = new Keeper({
    store,
    ...hands,
    orderOf: async ({ id, spec }) => orderFrom(id, spec, id === DEFAULT_SANDBOX ? await granted() : []),
    limit: config.max_sandboxes,
    rest: async id => {
      for (const conversation of await workingIn(id)) await runner.rest(conversation, REST_MS)
    },
    onRemoved: id => bash.forget(id),
    isBusy: async id => (await workingIn(id)).length > 0,
    isPreparing: id => desk.lodgings.isPreparing(id),
    log,
  })
  hands.onEnd(id => {
    if (keeper.find(id)) void keeper.settle(id).catch(() => undefined)
  })
  const granted = async () => hands.grants.all(await workspaces.paths())
  const workingIn = async (id: string) => {
    const records = await store.conversations(runner.going())
    return records.flatMap(record => (record && (record.sandbox ?? DEFAULT_SANDBOX) === id ? [record.id] : []))
  }
  const sandboxes = new Sandboxes({ keeper, specs: hands.specs, vault, refusals: hands.refusals })
  const reach: Reach = id => sandboxes.reach(id)
  const auth = new Auth([configured ?? keyFromFile(keyFile), ...others], 'key', key => sandboxes.scopeOf(key))
  const bashFeed = new Feed<BashRecord>()
  const bashLog = new BashLog(store, bashFeed)
  const bash = new Bash({ bashLog, reach, log })
  const vscode = new VsCode({ reach, derive: purpose => vault.derive(purpose) })
  const bashStreams = new Streams({
    feed: bashFeed,
    eventsAfter: ({ id }, seq) => bashLog.after(id, seq, READER_PAGE, READER_LOW_BYTES),
    readers: BASH_READERS,
  })

  const { userSkills, elsewhere } = brain.library
  const skills = new SkillLibrary({ reach, userSkills, elsewhere, approved, log })
  const desk = openDesk({
    store,
    vault,
    settings,
    journal: brain.journal,
    agentProfiles: brain.agentProfiles,
    conversations,
    sandboxes,
    library: skills,
    plugins: brain.library.plugins,
    approvals,
    remoteOf: (repository, provider) => gitProviders.remoteOf(repository, provider),
    isolated: async () => (await hands.proved).isolated,
    log,
  })
  const webhooks = new Webhooks({
    specs: config.webhooks,
    key: configured,
    store,
    info: async id => (await conversations.batch([id], true))[0] ?? null,
    eventsAfter: (...range) => events.after(...range),
    guardedFetch,
    log,
  })

  const metrics = new Metrics()
  let draining = false
  const table: Routes = config.open_metrics ? { ...routes, metrics: { ...routes.metrics, access: 'free' } } : routes
  const document = lazy(() => JSON.stringify(openapi(table, auth.mode, GANTRY_VERSION)))
  const info = async (): Promise<ServerInfo> => {
    const { isolated, summary } = await hands.proved
    const lastEventAt = Math.max(feed.lastEventAt, bashFeed.lastEventAt)
    return { ...serverInfo(started, lastEventAt), isolated, isolation: summary }
  }
  const appProfiles = new AppProfiles({ profiles: brain.profiles, settings, vault })
  const http = new HttpServer({
    auth,
    origins,
    log,
    metrics,
    hasSandbox: id => sandboxes.has(id),
    opened: opened.promise,
    draining: () => draining,
  })
  const handlers = allHandlers({
    ...brain,
    ...desk,
    auth,
    store,
    settings,
    sandboxes,
    workspaces,
    approvals,
    webhooks,
    streams,
    metrics,
    bash,
    git: new Git(reach),
    vscode,
    trajectories: new Trajectories(conversations, events),
    appProfiles,
    users: new Users({ settings, profiles: brain.profiles, appProfiles, vault }),
    skills,
    web: new WebFiles(WEB),
    reach,
    info,
    openapi: document,
    started,
    portsDomain: config.ports_domain,
  })
  http.serve(table, handlers)
  const terminals = new Terminals(reach)
  const rooms = allRooms({ conversations, events, streams, bash, bashStreams, terminals, log })
  const sockets = new Sockets({ auth, origins, rooms, log, hasSandbox: id => sandboxes.has(id) })
  const ports = new Ports({
    portOf: label => sandboxes.portOf(label),
    reach,
    isKey: key => auth.isKey(key),
    domain: config.ports_domain,
  })
  metrics.gauge('gantry_sockets', 'Open WebSockets.', () => sockets.open)
  metrics.gauge('gantry_readers', 'Readers that follow a conversation.', () => streams.readers)
  metrics.gauge(
    'gantry_webhook_lag_seconds',
    'Age of the oldest thing a webhook was not told.',
    () => webhooks.lagSeconds,
  )
  metrics.gauge('gantry_uptime_seconds', 'Time since start.', () => (Date.now() - started) / 1000)

  const server = createServer(
    { shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket' },
    async (incoming, out) => {
      if (!ports.owns(incoming)) return http.handle(incoming, out)
      await opened.promise
      return ports.serve(incoming, out)
    },
  )
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.on('upgrade', async (request, stream, head) => {
    // The HTTP server has let go of it: unheard, an error would end the process.
    stream.on('error', () => stream.destroy())
    await opened.promise
    await (ports.owns(request) ? ports : sockets).upgrade(request, stream, head)
  })

  const letGo = async () => {
    await webhooks.close()
    await keeper.close()
    await hands.close()
    await store.close()
    ownership.close()
  }
  const open = async () => {
    const url = await listen(server, config)
    hands.forbid(Number(new URL(url).port))
    const proof = await hands.proved
    if (configured === undefined && bindsLoopback(config.host) && proof.isolated) auth.trustLoopback()
    await bash.recover()
    await keeper.open()
    await webhooks.open()
    await recover(store, runner)
    await desk.starts.recover()
    opened.resolve()
    ownership.announce({ url, pid })
    return { url, ...proof }
  }
  const { url, isolated, summary } = await open().catch(async error => {
    server.close().closeAllConnections()
    await letGo()
    throw error
  })

  return {
    url,
    mode: auth.mode,
    warning: isolated ? undefined : `Commands are not isolated from this machine: ${summary}`,
    keyFile: configured === undefined ? keyFile : undefined,
    signInLink: () => `${url}/#token=${auth.issueToken()}`,
    close: async () => {
      draining = true
      const closed = new Promise(resolve => server.close(resolve))
      sockets.close()
      streams.close()
      bashStreams.close()
      server.closeIdleConnections()
      const impatience = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      await closed
      clearTimeout(impatience)
      vscode.close()
      await bash.close()
      await terminals.close()
      await desk.starts.close()
      await brain.close()
      await letGo()
    },
  }
}

const orderFrom = (id: string, spec: SandboxSpec, grants: Grant[]): Order => ({
  id,
  ...(spec.image && { image: spec.image }),
  ...(spec.command && { command: spec.command }),
  ...(spec.runtime && { runtime: spec.runtime }),
  workingDir: spec.working_dir,
  env: spec.env,
  limits: limitsOf(spec),
  egress: egressOf(spec),
  grants,
})

async function listen(server: Server, { host, port }: Config): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return `http://${name === '0.0.0.0' || name === '[::]' ? 'localhost' : name}:${address.port}`
}

const bindsLoopback = (host: string): boolean => host === 'localhost' || isLoopback(host)

function serverInfo(started: number, lastEventAt: number): Omit<ServerInfo, 'isolated' | 'isolation'> {
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
    usable_tools: [...USABLE_TOOLS],
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
