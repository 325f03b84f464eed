import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import type { TestServer } from './server.ts'

const PACKAGE = '@openhands/agent-canvas@1.20.0'
const CACHE = join(import.meta.dirname, '../../.cache/agent-canvas')
const BUILD = join(CACHE, PACKAGE.split('@').at(-1)!)

const run = promisify(execFile)

/** Fetches the built page once, 17 MB over the wire. A reason to skip what needs it, or false. */
export async function fetchCanvas(): Promise<string | false> {
  if (existsSync(BUILD)) return false
  await mkdir(CACHE, { recursive: true })
  // Whole or not at all, also when two runs fetch it at once.
  const scratch = await mkdtemp(join(CACHE, 'fetch-'))
  try {
    await run('npm', ['pack', '--silent', '--fetch-retries=0', '--pack-destination', scratch, PACKAGE], {
      timeout: 60_000,
    })
    await run('sh', ['-c', 'tar -xzf *.tgz package/build'], { cwd: scratch })
    await rename(join(scratch, 'package/build'), BUILD)
    return false
  } catch (error) {
    return !existsSync(BUILD) && `${PACKAGE} cannot be had: ${(error as Error).message.split('\n')[0]}`
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

const PROXIED = /^\/(?:api|sockets|server_info|alive|health|ready|docs|redoc|openapi\.json)(?=[/?]|$)/

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
}

/** The published page as its own launcher serves it: static files, and everything else passed on to a server of ours. */
export class Canvas implements AsyncDisposable {
  readonly url: string
  readonly #http: Server
  readonly #server: TestServer

  static async start(server: TestServer): Promise<Canvas> {
    const http = createServer()
    await once(http.listen(0, '127.0.0.1'), 'listening')
    return new Canvas(http, server)
  }

  private constructor(http: Server, server: TestServer) {
    this.#http = http
    this.#server = server
    this.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    http.on('request', (incoming, response) => {
      if (incoming.url!.startsWith('/api/automation/')) automation(incoming, response)
      else if (PROXIED.test(incoming.url!)) this.#pass(incoming, response)
      else this.#serve(incoming, response).catch(() => response.destroy())
    })
    http.on('upgrade', (incoming, socket, head) => this.#upgrade(incoming, socket, head))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise(resolve => this.#http.close(resolve))
    this.#http.closeAllConnections()
    await closed
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(incoming.url!, this.url)
    const extension = extname(pathname)
    const path = join(BUILD, extension ? pathname : 'index.html')
    const content = await readFile(path).catch(() => undefined)
    if (!content) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' })
    response.end(extension ? content : content.toString().replace('</head>', `${this.#globals()}</head>`))
  }

  #globals(): string {
    const key = JSON.stringify(this.#server.key)
    return `<script>__AGENT_CANVAS_SESSION_API_KEY__=${key};__AGENT_CANVAS_DO_NOT_TRACK__=true</script>`
  }

  /** The host becomes the server's and the origin stays the page's, as its launcher has it. */
  #asked({ method, url, headers }: IncomingMessage) {
    const { hostname, port, host } = new URL(this.#server.url)
    return request({ hostname, port, path: url, method, headers: { ...headers, host } })
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const asked = this.#asked(incoming)
    asked.on('response', answer => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    asked.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
    response.on('close', () => asked.destroy())
    incoming.pipe(asked)
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const asked = this.#asked(incoming)
    asked.on('upgrade', (answer, upstream, first) => {
      const lines = answer.rawHeaders.map((text, i) => text + (i % 2 ? '\r\n' : ': '))
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
      socket.write(first)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
      for (const [end, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        end.on('error', () => other.destroy())
        end.on('close', () => other.destroy())
      }
    })
    asked.on('response', answer => socket.end(`HTTP/1.1 ${answer.statusCode} Refused\r\n\r\n`))
    asked.on('error', () => socket.destroy())
    asked.end()
  }
}

/** A service beside the server that the page asks for: here it has nothing. */
function automation(incoming: IncomingMessage, response: ServerResponse): void {
  incoming.resume()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ automations: [], total: 0, status: 'ok' }))
}
