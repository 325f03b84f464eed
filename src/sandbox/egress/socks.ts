import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { Refused, Unreachable } from './dial.ts'
import type { Visit } from './visit.ts'

/** SOCKS5 (RFC 1928) with CONNECT only; user names (RFC 1929) are taken and never checked. */
export const VERSION = 5

const NO_LOGIN = 0
const LOGIN = 2
const NO_METHOD = 0xff

const CONNECT = 1
const IPV4 = 1
const NAME = 3
const IPV6 = 4

const REPLY = { granted: 0, failed: 1, refused: 2, noNetwork: 3, noHost: 4, noService: 5, noCommand: 7, noKind: 8 }

const FAILURES: Record<string, number> = {
  ENETUNREACH: REPLY.noNetwork,
  EHOSTUNREACH: REPLY.noHost,
  ENOTFOUND: REPLY.noHost,
  ETIMEDOUT: REPLY.noHost,
  ECONNREFUSED: REPLY.noService,
}

/** Serves one connection. It has as long as a head may take, over all of its messages. */
export function serveSocks(visit: Visit): void {
  const { socket } = visit
  const ended = new AbortController()
  socket.once('end', () => ended.abort())
  const over = AbortSignal.any([visit.gone, ended.signal])
  const take = (count: number) => takeFrom(socket, count, over)
  const refuse = (code: number) => {
    socket.end(reply(code))
    socket.resume()
  }
  const run = async () => {
    const user = await greeted(socket, take)
    const [version, command, , kind] = await take(4)
    if (version !== VERSION) throw new Error('not SOCKS5')
    const host = await hostOf(kind!, take)
    if (host === undefined) return refuse(REPLY.noKind)
    const port = (await take(2)).readUInt16BE()
    if (command !== CONNECT) return refuse(REPLY.noCommand)
    visit.inTurn(async () => {
      try {
        const upstream = await visit.dial({ host, port, user })
        socket.write(reply(REPLY.granted))
        visit.join(upstream)
      } catch (error) {
        refuse(codeOf(error))
      }
    })
  }
  run().catch(() => visit.hangUp())
}

type Take = (count: number) => Promise<Buffer>

async function greeted(socket: Duplex, take: Take): Promise<string | undefined> {
  const [, count] = await take(2)
  const methods = await take(count!)
  const method = methods.includes(LOGIN) ? LOGIN : methods.includes(NO_LOGIN) ? NO_LOGIN : NO_METHOD
  socket.write(Buffer.of(VERSION, method))
  if (method === NO_METHOD) throw new Error('no way to log in')
  if (method === NO_LOGIN) return undefined
  const [, length] = await take(2)
  const user = await take(length!)
  const [rest] = await take(1)
  await take(rest!)
  socket.write(Buffer.of(1, 0))
  return user.toString('latin1')
}

/** As text, for the one parser there is. */
async function hostOf(kind: number, take: Take): Promise<string | undefined> {
  if (kind === IPV4) return [...(await take(4))].join('.')
  if (kind === IPV6) return `[${(await take(16)).toString('hex').match(/.{4}/g)!.join(':')}]`
  if (kind !== NAME) return undefined
  const [length] = await take(1)
  return (await take(length!)).toString('utf8')
}

/**
 * The next bytes, leaving what comes after them where it is. What there is of them is taken out while waiting for more:
 * a stream that holds something says so at once to everybody who waits, and waiting would become spinning.
 */
async function takeFrom(socket: Duplex, count: number, over: AbortSignal): Promise<Buffer> {
  let held = Buffer.alloc(0)
  for (;;) {
    if (held.length < count) held = Buffer.concat([held, socket.read() ?? Buffer.alloc(0)])
    if (held.length >= count) {
      // In the same turn: a stream that was read empty may end in the next.
      if (held.length > count) socket.unshift(held.subarray(count))
      return held.subarray(0, count)
    }
    await once(socket, 'readable', { signal: over })
  }
}

const reply = (code: number): Buffer => Buffer.of(VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0)

function codeOf(error: unknown): number {
  if (error instanceof Refused) return REPLY.refused
  return (error instanceof Unreachable ? FAILURES[error.code] : undefined) ?? REPLY.failed
}
