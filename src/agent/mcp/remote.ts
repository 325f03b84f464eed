import type { Transport } from '@modelcontextprotocol/client'
import type { MCPAuthCredential, MCPServer } from '../../api/mcp.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { Failure } from './failure.ts'
import { callMs } from './limits.ts'
import { login } from './login.ts'
import type { Surroundings } from './session.ts'

/** How much longer than the longest call an answer may take to be complete. */
const MARGIN_MS = 5_000

/** The way to a server elsewhere. Contract: `server.url` is set. */
export async function remoteTransport(
  name: string,
  server: MCPServer,
  around: Surroundings,
  onBroken: (error: unknown) => void,
): Promise<Transport> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  if (!URL.canParse(server.url!)) throw new Failure('unknown', 'its URL is not one')
  const url = new URL(server.url!)
  const fetch = boundedFetch(around.fetch, {
    answerMs: callMs(server) + MARGIN_MS,
    silenceMs: server.sse_read_timeout ? server.sse_read_timeout * 1_000 : undefined,
    onBroken,
  })
  const options = {
    fetch,
    requestInit: { headers: { ...server.headers, ...credentials(server.auth) } },
    ...(server.auth?.strategy === 'oauth2' && {
      authProvider: login(url, server.auth, { fetch, onTokens: state => around.onTokens?.(name, state) }),
    }),
  }
  return isSse(server.transport, url)
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, options)
}

/** Where nobody said, a path that ends in `sse` does. */
const isSse = (transport: MCPServer['transport'], { pathname }: URL): boolean =>
  transport ? transport === 'sse' : /\/sse\/?$/.test(pathname)

/** The headers that a credential stands for; OAuth has a life of its own. */
export function credentials(auth: MCPAuthCredential | null | undefined): Record<string, string> {
  switch (auth?.strategy) {
    case 'api_key':
      if (!auth.value) return {}
      return auth.header_name ? { [auth.header_name]: auth.value } : { Authorization: `Bearer ${auth.value}` }
    case 'bearer':
      return auth.value ? { Authorization: `Bearer ${auth.value}` } : {}
    case 'basic':
      return {
        Authorization: `Basic ${Buffer.from(`${auth.username}:${auth.password ?? ''}`).toString('base64')}`,
      }
    case 'header':
      return auth.headers
    default:
      return {}
  }
}
