import assert from 'node:assert/strict'
import { type McpOptions, McpServers, PATIENCE_MS } from '../../src/agent/mcp.ts'
import type { Tool } from '../../src/agent/tool.ts'
import type { MCPOAuthState, MCPServer } from '../../src/api/mcp.ts'
import { Observation } from '../../src/api/observations.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { until } from './wait.ts'

interface Options extends Partial<Pick<McpOptions, 'filter' | 'taken' | 'fetch'>> {
  sandbox?: () => Promise<Sandbox>
  patienceMs?: number
}

/** The servers of a conversation, and what was heard of them. */
export class Conversation implements AsyncDisposable {
  readonly news: string[] = []
  readonly tokens: MCPOAuthState[] = []
  readonly mcp: McpServers
  readonly #sandbox: () => Promise<Sandbox>

  constructor(servers: Record<string, MCPServer>, { sandbox, filter, taken = [], fetch = globalThis.fetch }: Options) {
    this.#sandbox = sandbox ?? (() => Promise.reject(new Error('there is no sandbox')))
    this.mcp = new McpServers({
      servers,
      sandbox: this.#sandbox,
      workingDir: '/workspace',
      fetch,
      filter,
      taken,
      onNews: text => this.news.push(text),
      onTokens: (_, state) => this.tokens.push(state),
    })
  }

  static async open(servers: Record<string, MCPServer>, options: Options = {}): Promise<Conversation> {
    const conversation = new Conversation(servers, options)
    await conversation.mcp.open(options.patienceMs ?? PATIENCE_MS, new AbortController().signal)
    return conversation
  }

  get names(): string[] {
    return this.mcp.tools().map(({ name }) => name)
  }

  why(server: string): string | undefined {
    return this.mcp.problems().find(problem => problem.server === server)?.why
  }

  /** Why a server that may still be on its way does not stand, once that is known. */
  reason(server: string): Promise<string> {
    return until(`it is known why ${server} does not stand`, () => {
      const why = this.why(server)
      return why === 'it has not answered yet' ? undefined : why
    })
  }

  /** Until a server that may still be on its way stands. */
  async with(tool: string, ms?: number): Promise<this> {
    await until(`there is a tool ${tool}`, () => this.names.includes(tool), ms)
    return this
  }

  async run(name: string, args: Record<string, unknown> = {}, signal = new AbortController().signal) {
    await this.with(name)
    return this.runTool(this.tool(name), args, signal)
  }

  tool(name: string): Tool {
    const tool = this.mcp.tools().find(one => one.name === name)
    assert.ok(tool, `no tool ${name} among ${this.names}`)
    return tool
  }

  async runTool(tool: Tool, args: Record<string, unknown>, signal = new AbortController().signal) {
    const secretsFor = async () => ({})
    const where = { conversation: 'none', sandbox: this.#sandbox, workingDir: '/workspace' }
    const hands = { ...where, secretsFor, egress: undefined, signal }
    return Observation.parse(await tool.run(tool.understand(args), hands))
  }

  /** What a call that must succeed said, without the line that says it was made. */
  async said(name: string, args?: Record<string, unknown>): Promise<string> {
    const observation = await this.run(name, args)
    assert.equal(observation.is_error, false, textOf(observation))
    const [first, ...rest] = texts(observation)
    assert.equal(first, `[Tool '${name}' executed.]`)
    return rest.join('\n')
  }

  async failed(name: string, args?: Record<string, unknown>): Promise<string> {
    const observation = await this.run(name, args)
    assert.equal(observation.is_error, true, textOf(observation))
    return textOf(observation)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp.close()
  }
}

const texts = ({ content }: Observation): string[] => content.flatMap(one => (one.type === 'text' ? [one.text] : []))

export const textOf = (observation: Observation): string => texts(observation).join('\n')
