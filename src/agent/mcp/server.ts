import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/client'
import type { MCPServer } from '../../api/mcp.ts'
import { abortable } from '../../lib/abort.ts'
import { explain, Failure, statusOf } from './failure.ts'
import { RETRY_AT_MOST_MS, RETRY_MS } from './limits.ts'
import { Session, type Surroundings } from './session.ts'

interface Order {
  name: string
  server: MCPServer
  around: Surroundings
  /** It stands again, or not any more. Told once each time. */
  onNews(text: string): void
}

/** A server through all its lives. It is tried again when somebody asks for it, and the seldomer the more often it failed. */
export class Server {
  readonly name: string
  readonly #order: Order
  readonly #closing = new AbortController()
  #session: Session | undefined
  /** Also when it has failed: it may still be ending. */
  #last: Session | undefined
  #opening: Promise<Session> | undefined
  /** Kept while it is away, so that a call brings it back. */
  #known: readonly McpTool[] = []
  #failure: Failure | undefined
  /** Since it last answered a call. */
  #failures = 0
  #failedAt = 0

  constructor(order: Order) {
    this.name = order.name
    this.#order = order
  }

  get tools(): readonly McpTool[] {
    return this.#session?.tools ?? this.#known
  }

  get problem(): string | undefined {
    if (this.#session) return undefined
    return this.#failure?.message ?? 'it has not answered yet'
  }

  /** Resolves when it stands or is known not to. */
  async open(): Promise<void> {
    await this.#connect().catch(() => undefined)
  }

  /** Tries again in the background, if it is away and has rested. */
  revive(): void {
    if (!this.#session && !this.#opening && this.#rest() === 0) void this.open()
  }

  /** Rejects with a Failure, or with the reason of the signal. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    const { server, around } = this.#order
    // Its process may be frozen with its sandbox.
    if (server.command) await abortable(around.sandbox(), signal)
    const session = await this.#standing(signal)
    try {
      return await this.#ask(session, tool, args, signal)
    } catch (error) {
      const why = explain(error)
      if (isBroken(error, why)) session.end(why)
      if (!wasUnheard(error)) throw error
      return await this.#ask(await this.#standing(signal), tool, args, signal)
    }
  }

  /** Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The conversation is closed'))
    await this.#opening?.catch(() => undefined)
    this.#session = undefined
    await this.#last?.close()
  }

  async #ask(session: Session, tool: string, args: Record<string, unknown>, signal: AbortSignal) {
    const result = await session.call(tool, args, signal)
    this.#failures = 0
    return result
  }

  async #standing(signal: AbortSignal): Promise<Session> {
    if (this.#session) return this.#session
    const rest = this.#opening ? 0 : this.#rest()
    if (rest > 0)
      throw new Failure('connection', `${this.problem}. It is tried again after ${Math.ceil(rest / 1_000)} s`)
    return abortable(this.#connect(), signal)
  }

  #connect(): Promise<Session> {
    this.#opening ??= this.#begin().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #begin(): Promise<Session> {
    const { name, server, around, onNews } = this.#order
    try {
      const session = await Session.open({ name, server, around }, this.#closing.signal)
      if (session.failure) throw session.failure
      session.onEnd = why => this.#failed(why)
      this.#session = session
      this.#last = session
      if (this.#failure) onNews(`The MCP server '${name}' is available again, with ${session.tools.length} tools.`)
      if (session.leftOut > 0)
        onNews(`${session.leftOut} tools of the MCP server '${name}' are left out: they are too many or too large.`)
      this.#failure = undefined
      return session
    } catch (error) {
      this.#failed(explain(error))
      throw error
    }
  }

  #failed(why: Failure): void {
    const { name, onNews } = this.#order
    const isNew = this.#failure === undefined && !this.#closing.signal.aborted
    this.#known = this.tools
    this.#session = undefined
    this.#failure = why
    this.#failures += 1
    this.#failedAt = performance.now()
    if (isNew) onNews(`The MCP server '${name}' is not available: ${why.message}`)
  }

  /** Milliseconds until it may be tried again. */
  #rest(): number {
    if (this.#failures < 2) return 0
    const wait = Math.min(RETRY_MS * 2 ** (this.#failures - 2), RETRY_AT_MOST_MS)
    return Math.max(0, this.#failedAt + wait - performance.now())
  }
}

/** The server elsewhere could not be reached, or has been restarted and does not know this session: nothing was done. */
const wasUnheard = (error: unknown): boolean =>
  [400, 404].includes(statusOf(error) ?? 0) || /ECONNREFUSED/.test(String((error as Error).cause))

/** Any other status is an answer of a server that stands. */
const isBroken = (error: unknown, why: Failure): boolean =>
  wasUnheard(error) || (why.kind === 'connection' && statusOf(error) === undefined)
