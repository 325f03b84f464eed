import { setTimeout as delay } from 'node:timers/promises'
import type {
  CallToolResult,
  Client,
  Tool as McpTool,
  Transport,
  VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import type { MCPOAuthState, MCPServer } from '../../api/mcp.ts'
import { abortable } from '../../lib/abort.ts'
import type { Egress, Sandbox } from '../../sandbox/sandbox.ts'
import { GANTRY_VERSION } from '../../version.ts'
import { explain, Failure, isTimeout } from './failure.ts'
import {
  CONNECT_MS,
  callMs,
  DEFINITIONS_CHARACTERS,
  GOODBYE_MS,
  NAME_CHARACTERS,
  PAGES,
  PING_MS,
  REFRESH_MS,
  TOOLS,
} from './limits.ts'
import { remoteTransport } from './remote.ts'
import { StdioTransport } from './stdio.ts'

/** The protocol without a handshake. Most servers still speak the one before, and one that does not says so. */
const MODERN = '2026-07-28'
const UNSUPPORTED = /-32022|unsupported protocol version/i

/** What servers are reached through. */
export interface Surroundings {
  /** Where those that are commands run. */
  sandbox(): Promise<Sandbox>
  workingDir: string
  /** What those may reach, when that is less than their sandbox may. */
  egress?: Egress | undefined
  /** To those elsewhere; refuses what must not be reached. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /** The tokens of a login were renewed: the old ones may be void, so that these must be remembered. */
  onTokens?(server: string, state: MCPOAuthState): void
}

interface Order {
  name: string
  server: MCPServer
  around: Surroundings
}

/** One life of a connection to a server, from its first answer to its end. */
export class Session {
  /** As the server last named them. */
  tools: readonly McpTool[] = []
  /** How many more it named: too many or too large to tell a model of. */
  leftOut = 0
  /** Told when it ends without having been told to. */
  onEnd: ((why: Failure) => void) | undefined
  readonly #order: Order
  readonly #client: Client
  readonly #transport: Transport
  #stands = false
  #ended = false
  #why: Failure | undefined
  #refreshing = false
  #stale = false

  /** Rejects with a Failure, or with the reason of the signal; nothing is left running then. */
  static async open(order: Order, signal: AbortSignal): Promise<Session> {
    try {
      return await Session.#open(order, 'legacy', signal)
    } catch (error) {
      if (!(error instanceof Failure && UNSUPPORTED.test(error.message))) throw error
      return await Session.#open(order, { pin: MODERN }, signal)
    }
  }

  static async #open(order: Order, mode: VersionNegotiationMode, signal: AbortSignal): Promise<Session> {
    signal.throwIfAborted()
    const { name, server, around } = order
    const { Client } = await import('@modelcontextprotocol/client')
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)])
    const transport = server.command
      ? new StdioTransport(name, server, around)
      : await remoteTransport(name, server, around, error => session.end(explain(error)))
    const client = new Client(
      { name: 'gantry', version: GANTRY_VERSION },
      {
        listMaxPages: PAGES,
        versionNegotiation: { mode },
        listChanged: { tools: { autoRefresh: false, onChanged: () => void session.#refresh() } },
      },
    )
    const session = new Session(order, client, transport)
    try {
      await abortable(client.connect(transport, { signal: deadline, timeout: CONNECT_MS }), deadline)
      await abortable(session.#list(deadline), deadline)
      if (session.#why) throw session.#why
      session.#stands = true
      return session
    } catch (error) {
      await transport.close().catch(() => undefined)
      signal.throwIfAborted()
      throw session.#why ?? withComplaint(explain(error), transport)
    }
  }

  private constructor(order: Order, client: Client, transport: Transport) {
    this.#order = order
    this.#client = client
    this.#transport = transport
    client.onclose = () => {
      if (this.#stands || reasonOf(transport)) this.end(reasonOf(transport) ?? new Failure('connection', 'it is gone'))
    }
    client.onerror = error => {
      // The stream that brings every answer: when it is opened again, the server knows nothing of us.
      const [, why] = /^SSE error: (?:undefined)?(.*)/s.exec(error.message) ?? []
      if (why !== undefined) this.end(new Failure('connection', why || 'its stream of events ended'))
    }
    // For those that tell of changes without having said that they would.
    client.setNotificationHandler('notifications/tools/list_changed', () => void this.#refresh())
  }

  /** Why it ended, should it have without having been told to. */
  get failure(): Failure | undefined {
    return this.#why
  }

  /** Rejects with a Failure when no answer came, or with the reason of the signal. */
  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const timeout = callMs(this.#order.server)
    const tool = this.tools.find(one => one.name === name)
    if (!tool) {
      const names = this.tools.map(one => one.name).join(', ')
      throw new Failure('unknown', `it has no tool '${name}'. It has: ${names || 'none'}`)
    }
    // A pattern in the schema of a result could keep us busy for ever.
    const toolDefinition = { ...tool, outputSchema: undefined }
    try {
      const options = { signal, timeout, maxTotalTimeout: timeout, toolDefinition }
      return await abortable(this.#client.callTool({ name, arguments: args }, options), signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!isTimeout(error)) throw this.#why ?? error
      void this.#client.ping({ timeout: PING_MS }).catch(silence => {
        if (isTimeout(silence)) this.end(new Failure('timeout', 'it does not answer'))
      })
      throw new Failure('timeout', `it did not answer within ${timeout / 1_000} s`)
    }
  }

  /** Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    const { terminateSession } = this.#transport as { terminateSession?(): Promise<void> }
    if (terminateSession && !this.#ended) {
      const goodbye = terminateSession.call(this.#transport).catch(() => undefined)
      await Promise.race([goodbye, delay(GOODBYE_MS, undefined, { ref: false })])
    }
    this.#ended = true
    await this.#transport.close().catch(() => undefined)
  }

  end(why: Failure): void {
    if (this.#ended) return
    this.#ended = true
    this.#why = why
    this.onEnd?.(why)
    void this.#transport.close().catch(() => undefined)
  }

  /** However often the list is said to have changed, it is read once at a time and not at once again. */
  async #refresh(): Promise<void> {
    this.#stale = true
    if (this.#refreshing) return
    this.#refreshing = true
    while (this.#stale && !this.#ended) {
      this.#stale = false
      await this.#list(AbortSignal.timeout(CONNECT_MS)).catch(() => undefined)
      await delay(REFRESH_MS, undefined, { ref: false })
    }
    this.#refreshing = false
  }

  async #list(signal: AbortSignal): Promise<void> {
    const has = this.#client.getServerCapabilities()?.tools
    const { tools } = has
      ? await this.#client.listTools({}, { signal, timeout: CONNECT_MS, cacheMode: 'bypass' })
      : { tools: [] }
    this.tools = affordable(tools)
    this.leftOut = tools.length - this.tools.length
  }
}

/** Those that a model can be told of, the first ones first. */
function affordable(tools: readonly McpTool[]): McpTool[] {
  let left = DEFINITIONS_CHARACTERS
  const fitting = tools.filter(tool => {
    const size = JSON.stringify(tool).length
    if (size > left || tool.name.length > NAME_CHARACTERS) return false
    left -= size
    return true
  })
  return fitting.slice(0, TOOLS)
}

const reasonOf = (transport: Transport): Failure | undefined =>
  transport instanceof StdioTransport ? transport.failure : undefined

/** A server that is silent on the protocol often says elsewhere what it lacks. */
function withComplaint(failure: Failure, transport: Transport): Failure {
  const complaint = transport instanceof StdioTransport && transport.complaint
  return complaint ? new Failure(failure.kind, `${failure.message}; it printed: ${complaint}`) : failure
}
