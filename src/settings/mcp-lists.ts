import { fault } from '../api/errors.ts'
import type { MCPServer } from '../api/mcp.ts'
import { MCPConfig, MCPSHTTPServerConfig, sameUrl } from '../api/mcp-config.ts'
import { MASK } from '../api/secret.ts'
import { isBlank, unmask } from './merge.ts'

/**
 * MCP servers: three lists in the flat settings, one map in the nested ones. The map is what is stored.
 *
 * A server is *listed* when it is enabled, needs no credential but a bearer token, and the lists could name it: its
 * name, command or URL would pass their checks, and no listed server has the same URL. All others (disabled, OAuth …)
 * are hidden from the lists.
 *
 * - A posted list replaces the listed servers of its kind; a list left out keeps them. Hidden servers always stay.
 * - A posted server that is there already, by name or by URL, keeps its key and all that it does not mention:
 *   headers, description, timeouts, and the API key, `args`, `env` and `timeout` when left out. `env`, if sent, is whole.
 * - To post a hidden server is to use it: it is switched on, and a posted API key replaces its credential.
 */
export type Server = Partial<MCPServer>
export type Servers = Record<string, Server>
type ListName = keyof MCPConfig
type Posted =
  | { list: 'stdio_servers'; item: NonNullable<MCPConfig['stdio_servers']>[number] }
  | { list: 'sse_servers' | 'shttp_servers'; item: NonNullable<MCPConfig['shttp_servers']>[number] }

/** The listed servers, secrets masked. */
export function toLists(servers: Servers): Required<MCPConfig> {
  const lists: Required<MCPConfig> = { sse_servers: [], stdio_servers: [], shttp_servers: [] }
  for (const [key, list] of listed(servers)) {
    const { command, args, env, url, auth, timeout } = servers[key]!
    const api_key = auth?.strategy === 'bearer' && auth.value ? MASK : null
    if (list === 'stdio_servers') {
      const masked = Object.fromEntries(Object.keys(env ?? {}).map(name => [name, MASK]))
      lists.stdio_servers.push({ name: key, command: command!, args: args ?? [], env: masked })
    } else if (list === 'sse_servers') lists.sse_servers.push({ url: url!, api_key })
    else lists.shttp_servers.push({ url: url!, api_key, timeout: expressible(timeout) })
  }
  return lists
}

const expressible = (timeout: number | null | undefined) =>
  MCPSHTTPServerConfig.shape.timeout.safeParse(timeout).success ? (timeout ?? null) : null

export function fromLists(servers: Servers, lists: MCPConfig): Servers {
  const shown = listed(servers)
  const claimed = new Map<string, Posted>()
  const added: Posted[] = []
  for (const posted of allPosted(lists)) {
    const key = keyOf(posted, servers, shown)
    if (key) claimed.set(key, posted)
    else added.push(posted)
  }
  const stays = (key: string) => claimed.has(key) || !shown.has(key) || !lists[shown.get(key)!]
  const next = new Map<string, Server>()
  for (const [key, server] of Object.entries(servers))
    if (stays(key)) next.set(key, claimed.has(key) ? changed(server, claimed.get(key)!) : server)
  for (const posted of added) next.set(freeKey(posted, next), changed({}, posted))
  return Object.fromEntries(next)
}

/** Commands first: their names are given, a URL's key can still give way. */
const allPosted = ({ stdio_servers = [], sse_servers = [], shttp_servers = [] }: MCPConfig): Posted[] => [
  ...stdio_servers.map(item => ({ list: 'stdio_servers' as const, item })),
  ...sse_servers.map(item => ({ list: 'sse_servers' as const, item })),
  ...shttp_servers.map(item => ({ list: 'shttp_servers' as const, item })),
]

function listed(servers: Servers): Map<string, ListName> {
  const found = new Map<string, ListName>()
  const urls = new Set<string>()
  for (const [key, server] of Object.entries(servers)) {
    const list = listOf(server)
    const { command, url, auth, enabled } = server
    const bearer = !auth || auth.strategy === 'none' || auth.strategy === 'bearer'
    if (enabled === false || !bearer || (url && urls.has(sameUrl(url)))) continue
    const item = list === 'stdio_servers' ? { name: key, command } : { url }
    if (!MCPConfig.safeParse({ [list]: [item] }).success) continue
    if (url) urls.add(sameUrl(url))
    found.set(key, list)
  }
  return found
}

function listOf(server: Server): ListName {
  if (server.command) return 'stdio_servers'
  return server.transport === 'sse' ? 'sse_servers' : 'shttp_servers'
}

/** The stored server that a posted one means. The same URL in the other list means the same server, moved. */
function keyOf(posted: Posted, servers: Servers, shown: Map<string, ListName>): string | undefined {
  if (posted.list === 'stdio_servers') return servers[posted.item.name]?.command ? posted.item.name : undefined
  const url = sameUrl(posted.item.url)
  const same = Object.keys(servers).filter(key => servers[key]!.url && sameUrl(servers[key]!.url) === url)
  return same.find(key => shown.get(key) === posted.list) ?? same.find(key => shown.has(key)) ?? same[0]
}

function changed({ enabled: _, ...server }: Server, posted: Posted): Server {
  if (posted.list === 'stdio_servers') {
    const { command, args = server.args, env = server.env } = posted.item
    const transport = server.command ? server.transport : 'stdio'
    return {
      ...server,
      transport,
      command,
      args: orNone(args, server.args),
      env: orNone(unmask(env, server.env), server.env),
    }
  }
  const { url, api_key, timeout = server.timeout } = posted.item
  const moved = !server.url || listOf(server) !== posted.list
  const transport = moved ? (posted.list === 'sse_servers' ? 'sse' : 'http') : server.transport
  return { ...server, url, transport, timeout: timeout ?? undefined, auth: credential(server.auth, api_key) }
}

/** The lists show an empty one where there is none; sent back, it is still none. */
const orNone = <T extends object>(given: T | null | undefined, old: T | null | undefined): T | null | undefined =>
  old === undefined && given && Object.keys(given).length === 0 ? undefined : given

function credential(old: Server['auth'], apiKey: string | null | undefined): Server['auth'] {
  if (apiKey === undefined || apiKey === null || apiKey === MASK) return old
  if (!isBlank(apiKey)) return { strategy: 'bearer', value: apiKey }
  return old?.strategy === 'bearer' ? undefined : old
}

/** A command goes by its name; a URL by its host, in letters that tool names may have. */
function freeKey(posted: Posted, taken: ReadonlyMap<string, unknown>): string {
  if (posted.list === 'stdio_servers') {
    const { name } = posted.item
    if (taken.has(name)) throw fault('invalid_request', `Another MCP server is stored under the name "${name}"`)
    return name
  }
  const { hostname } = new URL(posted.item.url)
  const base = hostname.replace(/[^a-zA-Z0-9]+/g, '-').replace(/^-|-$/g, '') || 'server'
  for (let n = 1; ; n++) {
    const key = n === 1 ? base : `${base}-${n}`
    if (!taken.has(key)) return key
  }
}
