import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { newId } from '../../src/lib/id.ts'

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

/** Something that listens on loopback and can be taken away and brought back at the same place. */
export class Listener implements AsyncDisposable {
  #server: Server
  #port = 0
  #handle: Handle

  static async start(handle: Handle): Promise<Listener> {
    const listener = new Listener(handle)
    await listener.up()
    return listener
  }

  private constructor(handle: Handle) {
    this.#handle = handle
    this.#server = createServer()
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async up(handle = this.#handle): Promise<void> {
    this.#handle = handle
    this.#server = createServer((request, response) => this.#handle(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** The same address and connections, but another server behind them. */
  become(handle: Handle): void {
    this.#handle = handle
  }

  async down(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down()
  }
}

/** A good server: each session has its own. What it was sent is told to `heard`. */
export function streamable(
  heard: (headers: IncomingMessage['headers'], body: string) => void = () => undefined,
): Handle {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  return async (incoming, outgoing) => {
    const body = await text(incoming)
    heard(incoming.headers, body)
    const id = incoming.headers['mcp-session-id'] as string | undefined
    let transport = id === undefined ? undefined : sessions.get(id)
    if (id !== undefined && !transport) return outgoing.writeHead(404).end('no such session')
    if (!transport) {
      transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: newId,
        onsessioninitialized: given => {
          sessions.set(given, transport!)
        },
      })
      await good().connect(transport)
    }
    await pass(await transport.handleRequest(requestOf(incoming, body)), outgoing)
  }
}

/** A good server that speaks nothing but the protocol without a handshake. */
export function modern(): Handle {
  const handler = createMcpHandler(good, { legacy: 'reject' })
  return async (incoming, outgoing) => pass(await handler.fetch(requestOf(incoming, await text(incoming))), outgoing)
}

const requestOf = ({ url, method, headers }: IncomingMessage, body: string): Request =>
  new Request(`http://localhost${url}`, {
    method: method!,
    headers: headers as Record<string, string>,
    ...(body !== '' && { body }),
  })

async function pass(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.flushHeaders()
  const reader = response.body?.getReader()
  outgoing.on('close', () => void reader?.cancel().catch(() => undefined))
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) outgoing.write(part.value)
  outgoing.end()
}

function good(): McpServer {
  const server = new McpServer({ name: 'good', version: '1' })
  const said = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })
  server.registerTool('shout', { description: 'Shouts', inputSchema: z.object({ text: z.string() }) }, ({ text }) =>
    said(text.toUpperCase()),
  )
  server.registerTool('grow', { description: 'Adds a tool', inputSchema: z.object({}) }, () => {
    server.registerTool('grown', { description: 'New', inputSchema: z.object({}) }, () => said('grown up'))
    return said('growing')
  })
  server.registerTool('big', { description: 'Says much', inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) =>
    said('x'.repeat(bytes)),
  )
  server.registerTool('hang', { description: 'Hangs', inputSchema: z.object({}) }, () => new Promise<never>(() => {}))
  return server
}

/** The older transport: one stream of events, and a place to post to that the stream names. */
export function sse(): Handle {
  const streams = new Map<string, ServerResponse>()
  const tools = [{ name: 'whisper', description: 'Whispers', inputSchema: { type: 'object' } }]
  return async (incoming, outgoing) => {
    const session = new URL(incoming.url!, 'http://localhost').searchParams.get('session')
    if (incoming.method === 'GET') {
      const id = newId()
      streams.set(id, outgoing)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      return outgoing.write(`event: endpoint\ndata: /messages?session=${id}\n\n`)
    }
    const stream = streams.get(session ?? '')
    const { id, method, params } = JSON.parse(await text(incoming))
    outgoing.writeHead(stream ? 202 : 404).end()
    const answer = (result: object) => stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    const { protocolVersion } = params ?? {}
    if (method === 'initialize')
      answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'sse', version: '1' } })
    else if (method === 'tools/list') answer({ tools })
    else if (method === 'tools/call') answer({ content: [{ type: 'text', text: 'psst' }] })
  }
}
