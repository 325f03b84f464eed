import { promises as dns, Resolver } from 'node:dns'
import { LOOKUP_MS } from './limits.ts'

/**
 * The addresses of a name, asked for once. `listed`: a person wrote this very name down.
 * Rejects when there are none.
 */
export type Lookup = (name: string, listed: boolean, signal: AbortSignal) => Promise<readonly string[]>

/**
 * A listed name is looked up as the machine would, hosts file and all. Any other is asked of DNS only: the machine's
 * way occupies one of the few threads on which the server resolves names for itself, and names of an agent's choice can
 * be made slow.
 */
export const lookup: Lookup = async (name, listed, signal) => {
  // Those are never asked of anybody (RFC 6761).
  if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1']
  return listed ? (await dns.lookup(name, { all: true })).map(({ address }) => address) : ask(name, signal)
}

async function ask(name: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: LOOKUP_MS / 2, tries: 2 })
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const answer = (query: 'resolve4' | 'resolve6') =>
    new Promise<string[]>((resolve, reject) => {
      resolver[query](name, (error, addresses) => (error ? reject(error) : resolve(addresses)))
    })
  try {
    const answers = await Promise.allSettled([answer('resolve4'), answer('resolve6')])
    const addresses = answers.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    if (addresses.length === 0) throw answers.find(one => one.status === 'rejected')?.reason
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
