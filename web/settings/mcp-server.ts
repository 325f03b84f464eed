import type { MCPServer } from '../../src/api/mcp.ts'
import type { Api } from '../api.ts'
import type { Values } from './draft.ts'

export type Kind = 'stdio' | 'http' | 'sse'
export type Patch = Record<string, unknown>
export type Probe = Awaited<ReturnType<Api['testMcp']>>

export const KINDS: Record<Kind, string> = {
  http: 'At an address (HTTP)',
  sse: 'At an address (SSE, older)',
  stdio: 'A command in the sandbox',
}

export const kindOf = ({ command, transport }: Partial<MCPServer>): Kind =>
  command ? 'stdio' : transport === 'sse' ? 'sse' : 'http'

export const placeOf = ({ command, args, url }: Partial<MCPServer>): string =>
  command ? [command, ...(args ?? [])].join(' ') : (url ?? '')

/** What a form holds of a server that is stored: text for the list of arguments. */
export function formValue(server: Partial<MCPServer> | undefined, key: string): unknown {
  if (!server) return key === 'kind' ? 'http' : null
  if (key === 'kind') return kindOf(server)
  if (key === 'args') return (server.args ?? []).join('\n') || null
  if (key === 'oauth') return server.auth?.strategy === 'oauth2'
  // Only what is put in or taken out is held: values are never known here.
  if (key === 'env' || key === 'headers') return null
  return server[key as keyof MCPServer] ?? null
}

const lines = (text: unknown): string[] =>
  String(text ?? '')
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)

/** What the server is asked to change. A server of another kind has nothing of the kind before. */
export function patchOf({ name: _, kind, args, oauth, ...rest }: Values): Patch {
  const patch: Patch = { ...rest }
  if (args !== undefined) patch.args = lines(args)
  if (oauth !== undefined) patch.auth = oauth ? { strategy: 'oauth2' } : null
  if (kind === 'stdio') return { ...patch, url: null, headers: null, auth: null, transport: 'stdio' }
  if (kind !== undefined) return { ...patch, command: null, args: null, env: null, transport: kind }
  return patch
}

/** What is left of a server once it is changed so. */
export function patched(server: Patch, patch: Patch): Patch {
  const next = { ...server, ...patch }
  for (const map of ['env', 'headers'])
    if (patch[map]) next[map] = withoutNulls({ ...(server[map] as object), ...(patch[map] as object) })
  return withoutNulls(next)
}

const withoutNulls = (map: object): Patch =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null && value !== undefined))

/** As it is stored, its secrets as tokens that only this server can read. */
export async function sealedServer(api: Api, key: string): Promise<Patch> {
  const settings = await api.getSettings({ headers: { 'x-expose-secrets': 'encrypted' } })
  return { ...settings.agent_settings.mcp_config[key] }
}

export function probe(api: Api, name: string, server: Patch): Promise<Probe> {
  const { enabled: _, description: __, icon: ___, ...said } = withoutNulls(server)
  return api.testMcp({ body: { name, server: said as never } })
}
