import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'

/**
 * What an address is to whoever asks to reach it. `metadata` gives out a machine's credentials; `reserved` is nobody's:
 * unspecified (which connects to this machine), multicast, broadcast, or a way of wrapping one address in another that
 * only an attack uses today.
 */
export type Scope = 'public' | 'loopback' | 'private' | 'link-local' | 'metadata' | 'reserved'

/** What would make one parser see another host than the next: controls, space, and what has a meaning in a URL. */
const MISLEADING = /[\0-\x20\x7f"%@/\\?#:<>[\]^`{|}]/
/** Underscores are in use, whatever the standards say of them. */
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/

/**
 * The one spelling of a host: an address as `net.isIP` knows it (IPv6 without brackets, IPv4 never wrapped in it), or a
 * name in lower-case ASCII without its last dot. Undefined when it is neither, or not the same host to every reader.
 */
export function canonicalHost(text: string): string | undefined {
  const bare = /^\[(.*)\]$/s.exec(text)?.[1]
  if (bare !== undefined || text.includes(':')) return canonicalV6(bare ?? text)
  if (MISLEADING.test(text)) return undefined
  // Answers nothing for what ends in a number and is no IPv4 address.
  const ascii = domainToASCII(text)
  if (isIPv4(ascii)) return ascii
  const name = ascii.replace(/\.$/, '')
  return NAME.test(name) ? name : undefined
}

function canonicalV6(text: string): string | undefined {
  // An address with a zone is valid to `isIPv6`, and means another host on every machine.
  if (!isIPv6(text) || text.includes('%')) return undefined
  const words = wordsOf(text)
  return isWrapped(words, [0, 0, 0, 0, 0, 0xffff])
    ? v4Of(words[6]!, words[7]!)
    : new URL(`http://[${text}]`).hostname.slice(1, -1)
}

/** The host and the port of `host:port`; the port may be missing only where there is a usual one. Host as it was given. */
export function splitAuthority(text: string, usual?: number): { host: string; port: number } | undefined {
  const [, host, digits] = /^(\[[^\]]*\]|[^:]+)(?::([1-9]\d{0,4}))?$/s.exec(text) ?? []
  const port = digits === undefined ? usual : Number(digits)
  return host === undefined || port === undefined || port > 65535 ? undefined : { host, port }
}

/** `host:port` again, with the brackets that an IPv6 address needs. */
export const joinAuthority = (host: string, port: number): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** What a canonical address is. */
export function scopeOf(address: string): Scope {
  if (METADATA.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')) return 'metadata'
  if (isIPv4(address)) return V4.find(([, list]) => list.check(address))?.[0] ?? 'public'
  const words = wordsOf(address)
  if (isWrapped(words, NAT64)) return scopeOf(v4Of(words[6]!, words[7]!))
  const scope = V6.find(([, list]) => list.check(address, 'ipv6'))?.[0] ?? 'reserved'
  return scope === 'reserved' && embedded(words).some(v4 => METADATA.check(v4)) ? 'metadata' : scope
}

/** Where packets to a canonical address end up: a translator at the network's edge unwraps IPv4. */
export function unwrapped(address: string): string {
  const words = isIP(address) === 6 ? wordsOf(address) : []
  return isWrapped(words, NAT64) ? v4Of(words[6]!, words[7]!) : address
}

const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0]

const isWrapped = (words: readonly number[], prefix: readonly number[]): boolean =>
  words.length > 0 && prefix.every((word, index) => words[index] === word)

/** IPv4 addresses inside: compatible and translated ones (last), 6to4 (second), Teredo (server, and client inverted). */
const embedded = ([, b, c, d, , , g, h]: readonly number[]): string[] => [
  v4Of(g!, h!),
  v4Of(b!, c!),
  v4Of(c!, d!),
  v4Of(g! ^ 0xffff, h! ^ 0xffff),
]

const v4Of = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

function wordsOf(v6: string): number[] {
  const canonical = new URL(`http://[${v6}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const words = (text: string) => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)))
  const before = words(head)
  const after = words(tail ?? '')
  return [...before, ...new Array(8 - before.length - after.length).fill(0), ...after]
}

function ranges(...cidrs: string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [network = '', prefix = ''] = cidr.split('/')
    list.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6')
  }
  return list
}

/** Where clouds give out credentials: AWS (also ECS, EKS), Google, Azure, Oracle, Alibaba, Tencent, Scaleway, OpenStack. */
const METADATA = ranges(
  '169.254.169.0/24',
  '169.254.170.0/24',
  '169.254.0.23/32',
  '169.254.42.42/32',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42/128',
  'fe80::a9fe:a9fe/128',
)

/** Of the registries of special addresses (RFC 6890). The first that has it counts. */
const V4: [Scope, BlockList][] = [
  ['loopback', ranges('127.0.0.0/8')],
  ['link-local', ranges('169.254.0.0/16')],
  ['reserved', ranges('0.0.0.0/8', '192.0.0.0/24', '192.88.99.0/24', '224.0.0.0/3')],
  [
    'private',
    ranges(
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
      '100.64.0.0/10',
      '198.18.0.0/15',
      '192.0.2.0/24',
      '198.51.100.0/24',
      '203.0.113.0/24',
    ),
  ],
]

/** What is public is listed here: everything that is not is reserved. */
const V6: [Scope, BlockList][] = [
  ['loopback', ranges('::1/128')],
  ['link-local', ranges('fe80::/10')],
  ['private', ranges('fc00::/7', 'fec0::/10', '64:ff9b:1::/48', '2001:db8::/32', '3fff::/20')],
  ['reserved', ranges('2001::/23', '2002::/16')],
  ['public', ranges('2000::/3')],
]
