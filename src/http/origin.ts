import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/** What a request says about where it comes from. */
export interface Provenance {
  host: string | undefined
  origin: string | undefined
  fetchSite: string | undefined
}

export const provenanceOf = ({ headers }: IncomingMessage): Provenance => ({
  host: headers.host,
  origin: headers.origin,
  fetchSite: headers['sec-fetch-site'] as string | undefined,
})

export interface OriginPolicy {
  /** Host names, beside addresses and `localhost`, under which this server is reached. */
  hosts: readonly string[]
  /** Whether pages of this origin may talk to us when they bring the key. */
  allows(origin: string): boolean
}

/**
 * - `own`: one of our pages, or no page at all (curl, an SDK)
 * - `foreign`: a page of another origin that is allowed, provided it brings the key itself
 */
export type Verdict = 'own' | 'foreign' | { refused: 'bad_host' | 'unknown_host' | 'foreign_origin' }

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i

/**
 * Judged before routing, on every request and handshake. An address or `localhost` as Host cannot be had by rebinding
 * a name of the attacker's; any other name must be one we were told to serve.
 */
export function judge({ host, origin, fetchSite }: Provenance, policy: OriginPolicy): Verdict {
  const name = host && HOST.exec(host)?.[1]?.toLowerCase()
  if (!name) return { refused: 'bad_host' }
  if (!servesHost(name, policy.hosts)) return { refused: 'unknown_host' }
  if (origin !== undefined) {
    if (hostOf(origin) === host.toLowerCase()) return 'own'
    return policy.allows(origin) ? 'foreign' : { refused: 'foreign_origin' }
  }
  return fetchSite === 'cross-site' || fetchSite === 'same-site' ? { refused: 'foreign_origin' } : 'own'
}

const servesHost = (name: string, hosts: readonly string[]): boolean =>
  name === 'localhost' || (isIP(bare(name)) !== 0 && !UNSPECIFIED.test(bare(name))) || hosts.includes(name)

const bare = (name: string): string => name.replace(/^\[|\]$/g, '')
/** Browsers reach loopback under it, but do not say there that a request is cross-site. */
const UNSPECIFIED = /^(0\.0\.0\.0|[0:]+|::ffff:0\.0\.0\.0)$/

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

/** Pages served from this machine, on any port, are allowed as clients expect; others by configuration. */
export function originPolicy(hosts: readonly string[], origins: readonly string[], pattern?: string): OriginPolicy {
  const allowed = pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`)
  return {
    hosts: hosts.map(host => host.toLowerCase()),
    allows: origin => isLocalPage(origin) || origins.includes(origin) || (allowed?.test(origin) ?? false),
  }
}

function isLocalPage(origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, hostname } = new URL(origin)
  return /^https?:$/.test(protocol) && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
