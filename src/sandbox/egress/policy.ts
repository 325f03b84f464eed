import { BlockList, isIP } from 'node:net'
import type { Egress } from '../sandbox.ts'
import { canonicalHost, type Scope, scopeOf, splitAuthority, unwrapped } from './address.ts'

/** A canonical host, and the port on it. */
export interface Target {
  host: string
  port: number
}

export type Verdict<T> = ({ allow: true } & T) | { allow: false; why: string }

/** Whose port is never reached from inside. Without an address: that port on every address of this machine. */
export interface Forbidden {
  address?: string
  port: number
}

interface Entry {
  /** `exact` is an entry of its own for a host; `below` and `within` are for many. */
  kind: 'exact' | 'below' | 'within'
  port: number | undefined
  matches(host: string): boolean
}

/** What an entry of `hosts` says. Undefined when it says nothing: it then allows nothing. */
export function parseEntry(text: string): Entry | undefined {
  const plain = text.trim()
  // Only an IPv6 address without brackets has several colons, and then no port.
  const { host, port } =
    plain.split(':').length > 2 && !plain.startsWith('[')
      ? { host: plain, port: undefined }
      : (splitAuthority(plain, 0) ?? { host: '', port: 0 })
  const entry = subnet(host) ?? below(host) ?? exact(host)
  return entry && { ...entry, port: port || undefined }
}

type Pattern = Pick<Entry, 'kind' | 'matches'>

function exact(text: string): Pattern | undefined {
  const host = canonicalHost(text)
  return host === undefined ? undefined : { kind: 'exact', matches: other => other === host }
}

function below(text: string): Pattern | undefined {
  const parent = text.startsWith('*.') ? canonicalHost(text.slice(2)) : undefined
  if (parent === undefined || isIP(parent)) return undefined
  return { kind: 'below', matches: host => !isIP(host) && host.endsWith(`.${parent}`) }
}

function subnet(text: string): Pattern | undefined {
  const [, network = '', digits = ''] = /^\[?([^/[\]]+)\/(\d{1,3})\]?$/.exec(text) ?? []
  const address = canonicalHost(network)
  const family = isIP(address ?? '')
  const bits = Number(digits)
  // A wrapped IPv4 network would lose its wrapping and keep its prefix.
  if (!address || family === 0 || bits > (family === 4 ? 32 : 128) || isIP(network) !== family) return undefined
  const list = new BlockList()
  const name = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(address, bits, name)
  return { kind: 'within', matches: host => isIP(host) === family && list.check(host, name) }
}

/**
 * Whether a host may be asked for at all. To be known before it is resolved: to resolve a name is to tell it to whoever
 * answers for it. `listed`: it has an entry of its own.
 */
export function admit(egress: Egress, { host, port }: Target): Verdict<{ listed: boolean }> {
  if (egress.mode === 'none') return { allow: false, why: 'no network is allowed' }
  const matching = entriesFor(egress.hosts, host, port)
  if (egress.mode === 'hosts' && matching.length === 0)
    return { allow: false, why: 'it is not among the allowed hosts' }
  return { allow: true, listed: matching.some(entry => entry.kind === 'exact') }
}

/**
 * Which of a host's addresses may be connected to, in order. Addresses that are not public need an entry: of their own,
 * or for exactly this host. What is below a wildcard is often named by strangers, so a wildcard is not enough.
 */
export function choose(
  egress: Egress,
  target: Target,
  addresses: readonly string[],
  isOurs: (address: string, port: number) => boolean,
): Verdict<{ addresses: readonly string[] }> {
  const admission = admit(egress, target)
  if (!admission.allow) return admission
  const hosts = egress.mode === 'none' ? [] : egress.hosts
  let why = 'it has no usable address'
  const allowed = addresses.flatMap(text => {
    const address = canonicalHost(text)
    if (address === undefined || isIP(address) === 0) return []
    const scope = scopeOf(address)
    const entered = admission.listed || entriesFor(hosts, address, target.port).length > 0
    if (isOurs(unwrapped(address), target.port)) why = 'it is the server itself, which is never reachable from inside'
    else if (NEVER.has(scope)) why = `it leads to ${NAMES[scope]}, which is never reachable`
    else if (scope !== 'public' && !entered) why = `it leads to ${NAMES[scope]}, which needs an entry of its own`
    else return [address]
    return []
  })
  return allowed.length > 0 ? { allow: true, addresses: allowed } : { allow: false, why }
}

function entriesFor(hosts: readonly string[], host: string, port: number): Entry[] {
  return hosts
    .map(parseEntry)
    .filter(entry => entry !== undefined)
    .filter(entry => (entry.port === undefined || entry.port === port) && entry.matches(host))
}

const NEVER: ReadonlySet<Scope> = new Set(['metadata', 'reserved'])

const NAMES: Record<Scope, string> = {
  public: 'a public address',
  loopback: 'this machine itself',
  private: 'a private address',
  'link-local': 'a link-local address',
  metadata: "a cloud's metadata service",
  reserved: 'a reserved address',
}

/** Whether an address is one of this machine, given what its interfaces have. */
export function isForbidden(
  forbidden: readonly Forbidden[],
  own: ReadonlySet<string>,
  address: string,
  port: number,
): boolean {
  return forbidden.some(
    one =>
      one.port === port &&
      (one.address === undefined
        ? own.has(address) || scopeOf(address) === 'loopback'
        : canonicalHost(one.address) === address),
  )
}
