import type { MCPServer } from '../api/mcp.ts'
import { abortable } from '../lib/abort.ts'
import { Names } from './mcp/names.ts'
import { Server } from './mcp/server.ts'
import type { Surroundings } from './mcp/session.ts'
import { mcpTool } from './mcp/tool.ts'
import type { Tool } from './tool.ts'

export { PATIENCE_MS } from './mcp/limits.ts'
export { type Probe, type ProbeOptions, probe } from './mcp/probe.ts'

export interface McpOptions extends Surroundings {
  /** By name, with their secrets opened. Those that are not enabled are left alone. */
  servers: Readonly<Record<string, MCPServer>>
  /** Of what the servers call their tools, those that are wanted. */
  filter?: RegExp | undefined
  /** Names that other tools have. */
  taken: Iterable<string>
  /** A server stopped being available, or is again; in a sentence for a person. */
  onNews(text: string): void
}

/**
 * The MCP servers of one conversation. Whatever one of them does, it harms only itself: the others stand, the conversation goes on,
 * `problems` names it, and it is tried again whenever the tools are asked for.
 */
export class McpServers {
  readonly #servers: readonly Server[]
  readonly #filter: RegExp | undefined
  readonly #names: Names

  constructor({ servers, filter, taken, onNews, ...around }: McpOptions) {
    const enabled = Object.entries(servers).filter(([, server]) => server.enabled)
    this.#servers = enabled.map(([name, server]) => new Server({ name, server, around, onNews }))
    this.#filter = filter
    this.#names = new Names(taken)
  }

  /**
   * Resolves when all stand or are known not to, and in any case when the patience is over: the slow ones go on in the background.
   * Rejects with the reason of the signal.
   */
  async open(patienceMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    let impatience: NodeJS.Timeout | undefined
    const enough = new Promise<void>(resolve => {
      impatience = setTimeout(resolve, patienceMs)
    })
    const all = Promise.all(this.#servers.map(server => server.open()))
    await abortable(Promise.race([all, enough]), signal).finally(() => clearTimeout(impatience))
  }

  /** Of those servers that stand, and of those that did and will be brought back by a call. */
  tools(): Tool[] {
    for (const server of this.#servers) server.revive()
    return this.#servers.flatMap(server =>
      server.tools
        .filter(tool => this.#filter?.test(tool.name) ?? true)
        .map(tool => mcpTool(this.#names.of(server.name, tool.name), tool, server)),
    )
  }

  /** The servers that cannot be used just now, and why. */
  problems(): { server: string; why: string }[] {
    return this.#servers.flatMap(({ name, problem }) => (problem === undefined ? [] : [{ server: name, why: problem }]))
  }

  /** Resolves when nothing of any runs any more. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.close()))
  }
}
