import * as z from 'zod'
import { anyMap, orNull, secretMap, strings, textOrNull } from './common.ts'
import { MCPAuthCredential, MCPOAuthState, type MCPServer } from './mcp.ts'

const seconds = orNull(z.number())

const Command = z.object({
  type: z.literal('stdio'),
  command: z.string().min(1),
  args: strings,
  env: secretMap.default({}),
  cwd: textOrNull,
})

const Remote = z.object({
  type: z.enum(['http', 'shttp', 'streamable-http', 'sse']),
  url: z.string().min(1),
  headers: secretMap.default({}),
  auth: orNull(MCPAuthCredential),
  timeout: seconds,
  sse_read_timeout: seconds,
  keep_alive: orNull(z.boolean()),
})

/**
 * Settings write servers in another way: null for what is left out, and `transport` for the type, or neither: a command is one, and what
 * has a URL is elsewhere.
 */
function typed(server: unknown): unknown {
  if (typeof server !== 'object' || server === null || Array.isArray(server)) return server
  const said: Record<string, unknown> = Object.fromEntries(Object.entries(server).filter(([, value]) => value !== null))
  return { ...said, type: said.type ?? said.transport ?? (said.command ? 'stdio' : 'http') }
}

/** Secrets may be tokens of this server's making. */
export const MCPTestRequest = z
  .object({
    name: z.string().min(1).max(128).default('test-server'),
    server: z.preprocess(typed, z.discriminatedUnion('type', [Command, Remote])),
    timeout: z.number().positive().max(120).default(15).meta({ description: 'In seconds' }),
    tool_call: orNull(z.object({ name: z.string().min(1), arguments: anyMap.default({}) })),
  })
  .meta({ id: 'MCPTestRequest' })
export type MCPTestRequest = z.output<typeof MCPTestRequest>

/** The server of a request as settings keep it. */
export function testedServer({ server: { type, ...server } }: MCPTestRequest): MCPServer {
  return { ...server, transport: type === 'shttp' ? 'http' : type, enabled: true }
}

const MCPToolCallResult = z.object({ is_error: z.boolean(), text: z.string() }).meta({ id: 'MCPToolCallResult' })
const errorKind = z.enum(['timeout', 'connection', 'unknown'])

/** Its secrets are tokens of this server's making: to be stored as `auth.state` of the server, and of no use elsewhere. */
const oauthState = MCPOAuthState.optional()

export const MCPTestResponse = z.discriminatedUnion('ok', [
  z
    .object({
      ok: z.literal(true),
      tools: z.array(z.string()),
      tool_result: MCPToolCallResult.optional(),
      resolved_mcp_servers: z
        .array(anyMap)
        .optional()
        .meta({ deprecated: true, description: 'Never said: the name is kept for clients that know it' }),
      oauth_state: oauthState,
    })
    .meta({ id: 'MCPTestSuccess' }),
  z.object({ ok: z.literal(false), error: z.string(), error_kind: errorKind }).meta({ id: 'MCPTestFailure' }),
])
export type MCPTestResponse = z.output<typeof MCPTestResponse>

export const MCPOAuthStartResponse = z
  .object({
    ok: z.boolean(),
    job_id: z.string().optional(),
    authorization_url: z.string().optional(),
    error: z.string().optional(),
    error_kind: errorKind.optional(),
  })
  .meta({ id: 'MCPOAuthStartResponse' })
export type MCPOAuthStartResponse = z.output<typeof MCPOAuthStartResponse>

export const MCPOAuthStatusResponse = z
  .object({
    ok: z.boolean(),
    status: z.enum(['pending', 'authorizing', 'succeeded', 'failed']),
    job_id: z.string(),
    authorization_url: z.string().optional(),
    /** Whether the address a browser was sent back to is waited for. */
    callback_ready: z.boolean(),
    tools: z.array(z.string()).optional(),
    tool_result: MCPToolCallResult.optional(),
    oauth_state: oauthState,
    error: z.string().optional(),
    error_kind: errorKind.optional(),
  })
  .meta({ id: 'MCPOAuthStatusResponse' })
export type MCPOAuthStatusResponse = z.output<typeof MCPOAuthStatusResponse>

export const MCPOAuthCallbackRequest = z
  .object({ callback_url: z.string().min(1) })
  .meta({ id: 'MCPOAuthCallbackRequest' })
