import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream'
import { Fault } from '../api/errors.ts'
import { request } from '../lib/node-http.ts'
import type { Reach } from '../sandbox/sandbox.ts'
import { WORKSPACE_COOKIE } from './auth.ts'

export interface PortsParts {
  /** What the first label of a host name leads to. */
  portOf(label: string): { sandbox: string; port: number } | undefined
  reach: Reach
  /** Whether this is a key of this server's: no site may hear it. */
  isKey(candidate: string): boolean
  /** Of which every opened port is a subdomain. */
  domain: string
}

/** Belong to one connection, not to what is asked over it. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer', 'upgrade']
/** What only this server itself may hear. */
const OURS = ['x-session-api-key', 'transfer-encoding', ...HOP_BY_HOP]
/** Browsers send these to our own name alone; others may be careless. */
const OUR_COOKIE = new RegExp(`^\\s*(gantry_session_\\w+|${WORKSPACE_COOKIE})\\s*=`)

/**
 * What listens on a port inside a sandbox, as a site of its own: another origin than ours, so that a page made by an agent can
 * neither use our cookie nor read our answers. Its name cannot be guessed, and is all it takes to open it.
 */
export class Ports {
  readonly #parts: PortsParts

  constructor(parts: PortsParts) {
    this.#parts = parts
  }

  /** Whether a request is for such a site, and not for this server. */
  owns({ headers }: IncomingMessage): boolean {
    return this.#label(headers) !== undefined
  }

  async serve(incoming: IncomingMessage, out: ServerResponse): Promise<void> {
    try {
      const inside = await this.#connect(incoming)
      const asked = request({
        createConnection: () => inside as never,
        method: incoming.method,
        path: incoming.url,
        headers: this.#forwarded(incoming),
        setHost: false,
      })
      asked.once('response', answer => {
        out.writeHead(answer.statusCode ?? 502, answered(answer.headers))
        pipeline(answer, out, () => inside.destroy())
      })
      asked.once('error', () => say(out, 502, 'What listens there did not answer'))
      out.once('close', () => inside.destroy())
      pipeline(incoming, asked, () => undefined)
    } catch (error) {
      say(out, ...complaint(error))
    }
  }

  async upgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    stream.on('error', () => stream.destroy())
    try {
      const inside = await this.#connect(incoming)
      const { host, ...others } = this.#forwarded(incoming)
      const headers = { host, ...others, connection: 'Upgrade', upgrade: incoming.headers.upgrade }
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        [value ?? []].flat().map(one => `${name}: ${one}`),
      )
      inside.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      inside.write(head)
      pipeline(stream, inside, () => stream.destroy())
      pipeline(inside, stream, () => inside.destroy())
    } catch (error) {
      const [status, text] = complaint(error)
      stream.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`)
    }
  }

  async #connect({ headers }: IncomingMessage): Promise<Duplex> {
    const place = this.#parts.portOf(this.#label(headers) ?? '')
    if (!place) throw new Unknown()
    const sandbox = await this.#parts.reach(place.sandbox)
    const inside = await sandbox.connect(place.port)
    inside.on('error', () => inside.destroy())
    return inside
  }

  #forwarded({ headers }: IncomingMessage): OutgoingHttpHeaders {
    const kept: OutgoingHttpHeaders = { ...headers }
    for (const name of OURS) delete kept[name]
    if (headers['transfer-encoding']) kept['transfer-encoding'] = 'chunked'
    const cookies = headers.cookie?.split(';').filter(cookie => !OUR_COOKIE.test(cookie))
    delete kept.cookie
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
    if (bearer !== undefined && this.#parts.isKey(bearer)) delete kept.authorization
    return cookies?.length ? { ...kept, cookie: cookies.join(';').trim() } : kept
  }

  #label({ host }: IncomingHttpHeaders): string | undefined {
    const name = host?.toLowerCase().replace(/:\d+$/, '') ?? ''
    const tail = `.${this.#parts.domain}`
    return name.endsWith(tail) ? name.slice(0, -tail.length) : undefined
  }
}

class Unknown extends Error {}

function complaint(error: unknown): [number, string] {
  if (error instanceof Unknown) return [404, 'There is no such site']
  return error instanceof Fault ? [error.status, error.message] : [502, 'The sandbox could not be reached']
}

/** A cookie for a whole domain would reach this server too, and an address that opens the site must not travel to others. */
function answered(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = { 'referrer-policy': 'same-origin', ...headers }
  for (const name of HOP_BY_HOP) delete kept[name]
  const cookies = headers['set-cookie']?.map(cookie => cookie.replace(/;\s*domain=[^;]*/gi, ''))
  return cookies ? { ...kept, 'set-cookie': cookies } : kept
}

function say(out: ServerResponse, status: number, text: string): void {
  if (out.headersSent) {
    out.destroy()
    return
  }
  out.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
  out.end(`${text}\n`)
}
