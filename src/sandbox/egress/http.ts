import type { ClientRequest, IncomingMessage, ServerResponse as Response } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { createServer, request, ServerResponse, STATUS_CODES } from '../../lib/node-http.ts'
import { canonicalHost, joinAuthority, splitAuthority } from './address.ts'
import { Refused, Unreachable } from './dial.ts'
import { HEAD_BYTES } from './limits.ts'
import type { Target } from './policy.ts'
import { shown, type Visit } from './visit.ts'

type OnUpgrade = (came: IncomingMessage, upstream: Duplex, head: Buffer) => void

/** The HTTP half: Node's own server, which listens nowhere and is handed its connections. */
export class HttpSide {
  readonly #visits = new WeakMap<Duplex, Visit>()
  readonly #server = createServer({
    maxHeaderSize: HEAD_BYTES,
    insecureHTTPParser: false,
    // A connection that is kept is given the same time as a new one.
    keepAliveTimeout: 0,
    // What else can be upgraded to (h2c) is offered by clients that do well without.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  })

  constructor() {
    this.#server
      .on('request', (asked, answer) => {
        const visit = this.#visits.get(asked.socket)!
        visit.inTurn(() => passOn(visit, asked, answer))
      })
      .on('upgrade', (asked, socket, head) => {
        this.#alone(socket, head, visit => {
          const answer = new ServerResponse(asked)
          answer.shouldKeepAlive = false
          answer.assignSocket(socket as Socket)
          answer.once('finish', () => socket.end())
          return passOn(visit, asked, answer, true)
        })
      })
      .on('connect', (asked, socket, head) => {
        this.#alone(socket, head, visit => tunnel(visit, asked))
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket) => {
        const visit = this.#visits.get(socket)!
        const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
        // Into an answer that is on its way nothing can be said.
        if (visit.busy) visit.hangUp()
        else finish(socket, status, 'That is not a request to an HTTP or SOCKS5 proxy.')
      })
  }

  serve(visit: Visit): void {
    this.#visits.set(visit.socket, visit)
    this.#server.emit('connection', visit.socket)
  }

  /** What takes the connection over comes last on it, and cannot come while something else is being answered. */
  #alone(socket: Duplex, head: Buffer, work: (visit: Visit) => Promise<void>): void {
    const visit = this.#visits.get(socket)!
    if (visit.busy) {
      visit.hangUp()
      return
    }
    socket.unshift(head)
    visit.inTurn(() => work(visit))
  }
}

async function tunnel(visit: Visit, asked: IncomingMessage): Promise<void> {
  const target = isClear(asked) && splitAuthority(asked.url ?? '')
  if (!target) return finish(visit.socket, 400, 'CONNECT needs a host and a port.')
  try {
    const upstream = await visit.dial({ ...target, user: userOf(asked) })
    visit.socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    visit.join(upstream)
  } catch (error) {
    finish(visit.socket, ...explain(target, error))
  }
}

/** The parser also takes what has no version at all, or a body in a code unknown to it: nobody agrees on where that ends. */
const isClear = ({ httpVersionMajor, headers }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && (headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked'

/** Resolves when the answer is out, the connections are joined, or the client is gone. */
async function passOn(visit: Visit, asked: IncomingMessage, answer: Response, upgrade = false): Promise<void> {
  const [, authority = '', path = ''] = /^http:\/\/([^/?#]+)([/?][^#]*)?$/i.exec(asked.url ?? '') ?? []
  const target = isClear(asked) && splitAuthority(authority, 80)
  if (!target)
    return say(answer, 400, 'A request to this proxy names an http:// URL in full; https:// goes by CONNECT.')
  let upstream: Socket | undefined
  try {
    upstream = await visit.dial({ ...target, user: userOf(asked) })
    const sent = send(asked, upstream, target, path)
    await answered(asked, sent, answer, upgrade ? offer(visit, sent, answer) : undefined)
  } catch (error) {
    upstream?.destroy()
    if (answer.headersSent) throw error
    say(answer, ...explain(target, error))
  }
}

/** The request as it goes out, over a connection of its own: written anew, so it has the one meaning it was read with. */
function send(asked: IncomingMessage, upstream: Socket, { host, port }: Target, path: string): ClientRequest {
  const sent = request({
    method: asked.method,
    path: path.startsWith('/') ? path : `/${path}`,
    setHost: false,
    createConnection: () => upstream,
  })
  sent.setHeader('Host', joinAuthority(canonicalHost(host)!, port).replace(/:80$/, ''))
  for (const [name, value] of endToEnd(asked)) if (name.toLowerCase() !== 'host') sent.appendHeader(name, value)
  if (asked.headers['transfer-encoding'] !== undefined) sent.setHeader('Transfer-Encoding', 'chunked')
  return sent
}

async function answered(
  asked: IncomingMessage,
  sent: ClientRequest,
  answer: Response,
  onUpgrade: OnUpgrade | undefined,
): Promise<void> {
  const done = Promise.withResolvers<void>()
  const end = () => {
    sent.destroy()
    done.resolve()
  }
  answer.once('finish', end).once('close', end)
  asked.once('error', error => sent.destroy(error))
  sent.on('error', () => done.reject(new Unreachable('ECONNABORTED')))
  // What nobody asked to be upgraded to ends without an error.
  sent.once('close', () => answer.headersSent || done.reject(new Unreachable('ECONNABORTED')))
  sent.once('response', came => {
    try {
      answer.sendDate = false
      answer.writeHead(came.statusCode!, came.statusMessage, [...endToEnd(came)].flat())
      answer.flushHeaders()
      pipeline(came, answer, error => error && done.reject(error))
    } catch (error) {
      done.reject(error)
    }
  })
  if (onUpgrade) {
    sent.once('upgrade', (came, upstream, head) => {
      onUpgrade(came, upstream, head)
      done.resolve()
    })
  }
  // A body may be waiting for a first word of the other end.
  if (sent.hasHeader('content-length') || sent.hasHeader('transfer-encoding')) sent.flushHeaders()
  asked.pipe(sent)
  // What nobody wants of a body is in the way of the next request.
  await done.promise.finally(() => asked.unpipe(sent).resume())
}

/** Asks for the upgrade too, and says what to do when it is granted. If not, there is an answer like any other. */
function offer(visit: Visit, sent: ClientRequest, answer: Response): OnUpgrade {
  sent.setHeader('Connection', 'Upgrade')
  sent.setHeader('Upgrade', 'websocket')
  return (came, upstream, head) => {
    const headers = [...endToEnd(came), ['Connection', 'Upgrade'], ['Upgrade', 'websocket']]
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
    answer.detachSocket(visit.socket as Socket)
    visit.socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
    upstream.unshift(head)
    visit.join(upstream)
  }
}

/** Headers that are for the other end. Those that are for the next hop stay here, and so does who asked. */
function* endToEnd({ rawHeaders, headers }: IncomingMessage): Generator<[string, string]> {
  const named = (headers.connection ?? '').toLowerCase().split(/[\s,]+/)
  const here = new Set([
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'expect',
    ...named,
  ])
  // The parser has gone by its length: a client cannot have it dropped.
  here.delete('content-length')
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!here.has(name) && !name.startsWith('proxy-')) yield [rawHeaders[i]!, rawHeaders[i + 1]!]
  }
}

/** Of `Proxy-Authorization: Basic`: whatever password there is says nothing. */
function userOf({ headers }: IncomingMessage): string | undefined {
  const [, token] = /^basic +([\w+/=-]+)$/i.exec(headers['proxy-authorization'] ?? '') ?? []
  return token && Buffer.from(token, 'base64').toString('latin1').split(':', 1)[0]
}

function explain({ host, port }: Target, error: unknown): [number, string] {
  const what = joinAuthority(shown(host), port)
  if (error instanceof Refused) {
    return [403, `${what} may not be reached: ${error.message}. This is the network policy of the sandbox.`]
  }
  return [502, `${what} cannot be reached: ${error instanceof Unreachable ? error.message : 'the request failed'}.`]
}

function say(answer: Response, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`)
  answer.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length })
  answer.end(body)
}

/** The same on a connection that has no response to write to, and then hangs up. */
function finish(socket: Duplex, status: number, text: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const length = Buffer.byteLength(text) + 1
  const headers = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${length}\r\nConnection: close`
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${text}\n`)
  socket.resume()
}
