import { type LookupAddress, lookup as system } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { canonicalHost, scopeOf } from './address.ts'

/**
 * For what the server itself calls because a person said so: model endpoints, MCP servers, hooks. Those may well be on
 * this machine or in a private network, but are never where the machine's own credentials are given out.
 */
export class NotCalled extends Error {
  constructor(host: string) {
    super(`${host} leads to a cloud's metadata service, which is never called`)
  }
}

/**
 * Throws NotCalled if a URL names such an address. To be asked before every call, also after a redirect: for addresses
 * no lookup happens.
 */
export function checkUrl(url: string | URL): void {
  const { hostname } = new URL(url)
  const host = canonicalHost(hostname)
  if (host !== undefined && isIP(host) && scopeOf(host) === 'metadata') throw new NotCalled(hostname)
}

/**
 * A `lookup` for whatever takes one to connect (net, tls, http, undici): it resolves once, and what it answers is what
 * is connected to. Such addresses are not in the answer; where no other is left, it fails with NotCalled.
 */
export function guarded(lookup: LookupFunction = system as LookupFunction): LookupFunction {
  return (name, options, callback) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      const answers = (error ? [] : found) as LookupAddress[]
      const left = answers.filter(({ address }) => {
        const canonical = canonicalHost(address)
        return canonical !== undefined && scopeOf(canonical) !== 'metadata'
      })
      const [first] = left
      if (error) callback(error, [])
      else if (!first) callback(new NotCalled(name), [])
      else if (options.all) callback(null, left)
      else callback(null, first.address, first.family)
    })
}
