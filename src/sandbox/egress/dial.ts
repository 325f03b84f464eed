import { isIP, type Socket, connect as tcp } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Egress } from '../sandbox.ts'
import { canonicalHost } from './address.ts'
import { ATTEMPT_MS, type Limits } from './limits.ts'
import { admit, choose, type Forbidden, isForbidden, type Verdict } from './policy.ts'
import type { Lookup } from './resolve.ts'

/** Connects to one of these addresses, and to no other. */
export type Connect = (addresses: readonly string[], port: number) => Socket

/** The policy says no. */
export class Refused extends Error {}

/** The policy says yes, and the network no. `code` as Node's errors have it. */
export class Unreachable extends Error {
  readonly code: string

  constructor(code: string) {
    super(REASONS[code] ?? 'the connection failed')
    this.code = code
  }
}

const REASONS: Record<string, string> = {
  ENOTFOUND: 'its name cannot be resolved',
  ECONNREFUSED: 'it refused the connection',
  ENETUNREACH: 'there is no way to its network',
  EHOSTUNREACH: 'there is no way to it',
  ETIMEDOUT: 'it did not answer in time',
}

export interface Ways {
  lookup: Lookup
  connect: Connect
  /** Looked at for every connection: the caller may add to it. */
  forbidden: readonly Forbidden[]
  limits: Limits
}

/**
 * The only way out. Decides on the name, resolves it once, decides on the addresses, and connects to those: what was
 * judged is what is connected to, and every policy must allow it. Rejects with Refused or Unreachable.
 */
export async function dial(
  ways: Ways,
  policies: readonly Egress[],
  asked: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const host = canonicalHost(asked.host)
  if (host === undefined) throw new Refused('that is not the name of a host')
  if (asked.port === 0) throw new Refused('there is no port 0')
  const target = { host, port: asked.port }
  const listed = policies.map(egress => granted(admit(egress, target)).listed).includes(true)
  const found = isIP(host) ? [host] : await resolved(ways, host, listed, signal)
  const own = ownAddresses()
  const isOurs = (address: string, port: number) => isForbidden(ways.forbidden, own, address, port)
  const addresses = policies.reduce((left, egress) => granted(choose(egress, target, left, isOurs)).addresses, found)
  signal.throwIfAborted()
  return connected(ways.connect(addresses, target.port), ways.limits, signal)
}

function granted<T>(verdict: Verdict<T>): T {
  if (!verdict.allow) throw new Refused(verdict.why)
  return verdict
}

async function resolved(ways: Ways, name: string, listed: boolean, signal: AbortSignal): Promise<readonly string[]> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(ways.limits.lookupMs)])
  const given = Promise.withResolvers<never>()
  patience.addEventListener('abort', () => given.reject(new Unreachable('ETIMEDOUT')), { once: true })
  return Promise.race([ways.lookup(name, listed, patience), given.promise]).catch(error => {
    throw error instanceof Unreachable ? error : new Unreachable('ENOTFOUND')
  })
}

function connected(socket: Socket, limits: Limits, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const giveUp = () => socket.destroy()
  const patience = setTimeout(() => {
    reject(new Unreachable('ETIMEDOUT'))
    giveUp()
  }, limits.connectMs)
  signal.addEventListener('abort', giveUp, { once: true })
  const settle = () => {
    clearTimeout(patience)
    signal.removeEventListener('abort', giveUp)
  }
  // Stays for the socket's whole life: an error without a listener would end the process.
  socket.on('error', error => reject(new Unreachable(codeOf(error))))
  socket.once('close', () => {
    settle()
    reject(new Unreachable('ECONNABORTED'))
  })
  socket.once('connect', () => {
    settle()
    // Sees bytes of both directions, so it is the idle timer of whatever is joined to it.
    socket.setTimeout(limits.idleMs, () => socket.destroy())
    resolve(socket)
  })
  return promise
}

/** Several addresses fail as one error with several inside. */
function codeOf(error: NodeJS.ErrnoException): string {
  const errors: NodeJS.ErrnoException[] = error instanceof AggregateError ? error.errors : [error]
  return errors.find(one => one.code !== undefined && one.code in REASONS)?.code ?? error.code ?? 'ECONNABORTED'
}

export const connect: Connect = (addresses, port) =>
  tcp({
    // Never looked up: the answer is given below.
    host: 'chosen.invalid',
    port,
    lookup: (_host, _options, callback) =>
      callback(
        null,
        addresses.map(address => ({ address, family: isIP(address) })),
      ),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
  })

function ownAddresses(): Set<string> {
  const infos = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return new Set(infos.map(({ address }) => canonicalHost(address) ?? address))
}
