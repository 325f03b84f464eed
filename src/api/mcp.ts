import * as z from 'zod'
import { anyMap, nullishText, orNull, secretMap, secretOrNull, textOrNull } from './common.ts'
import { secret } from './secret.ts'

const MCPNoneAuthCredential = z.object({ strategy: z.literal('none') }).meta({ id: 'MCPNoneAuthCredential' })

const MCPApiKeyAuthCredential = z
  .object({ strategy: z.literal('api_key'), value: secretOrNull, header_name: textOrNull })
  .meta({ id: 'MCPApiKeyAuthCredential' })

const MCPBearerAuthCredential = z
  .object({ strategy: z.literal('bearer'), value: secretOrNull })
  .meta({ id: 'MCPBearerAuthCredential' })

const MCPBasicAuthCredential = z
  .object({ strategy: z.literal('basic'), username: z.string(), password: secretOrNull })
  .meta({ id: 'MCPBasicAuthCredential' })

const MCPHeaderAuthCredential = z
  .object({ strategy: z.literal('header'), headers: secretMap.default({}) })
  .meta({ id: 'MCPHeaderAuthCredential' })

const MCPOAuthAuthentication = z
  .strictObject({
    type: z.literal('oauth'),
    client_auth_method: orNull(z.enum(['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'])),
    scopes: orNull(z.union([z.string(), z.array(z.string())])),
    client_name: textOrNull,
    client_metadata_url: textOrNull,
    client_id: textOrNull,
    client_secret: secretOrNull,
    additional_client_metadata: orNull(anyMap),
  })
  .meta({ id: 'MCPOAuthAuthentication' })

const MCPOAuthTokenState = z
  .looseObject({ access_token: secretOrNull, refresh_token: secretOrNull })
  .meta({ id: 'MCPOAuthTokenState' })

const MCPOAuthClientInfoState = z.looseObject({ client_secret: secretOrNull }).meta({ id: 'MCPOAuthClientInfoState' })

export const MCPOAuthState = z
  .object({
    tokens: orNull(MCPOAuthTokenState),
    client_info: orNull(MCPOAuthClientInfoState),
    token_expires_at: orNull(z.number()),
  })
  .meta({ id: 'MCPOAuthState' })
export type MCPOAuthState = z.output<typeof MCPOAuthState>

const MCPOAuthAuthCredential = z
  .object({
    strategy: z.literal('oauth2'),
    authentication: orNull(MCPOAuthAuthentication),
    state: orNull(MCPOAuthState),
  })
  .meta({ id: 'MCPOAuthAuthCredential' })

export const MCPAuthCredential = z.discriminatedUnion('strategy', [
  MCPNoneAuthCredential,
  MCPApiKeyAuthCredential,
  MCPBearerAuthCredential,
  MCPBasicAuthCredential,
  MCPHeaderAuthCredential,
  MCPOAuthAuthCredential,
])
export type MCPAuthCredential = z.output<typeof MCPAuthCredential>

const fields = {
  url: z.string().min(1).nullish(),
  transport: z.enum(['stdio', 'http', 'streamable-http', 'sse']).nullish(),
  command: z.string().min(1).nullish(),
  args: z.array(z.string()).nullish(),
  cwd: nullishText,
  description: nullishText,
  icon: nullishText,
  timeout: z.number().nullish(),
  sse_read_timeout: z.number().nullish(),
  keep_alive: z.boolean().nullish(),
  auth: MCPAuthCredential.nullish(),
}

/** A tool server: a command to run, or a URL to call. */
export const MCPServer = z
  .strictObject({
    ...fields,
    env: secretMap.nullish(),
    headers: secretMap.nullish(),
    enabled: z.boolean().default(true),
  })
  .refine(server => !server.url !== !server.command, { error: 'Exactly one of command and url is needed' })
  .meta({ id: 'MCPServer' })
export type MCPServer = z.output<typeof MCPServer>

/** What is named changes; null removes it, also inside `env` and `headers`. */
export const MCPServerPatch = z
  .strictObject({
    ...fields,
    env: z.record(z.string(), secret().nullable()).nullish(),
    headers: z.record(z.string(), secret().nullable()).nullish(),
    enabled: z.boolean().nullish(),
  })
  .meta({ id: 'MCPServerPatch' })
export type MCPServerPatch = z.output<typeof MCPServerPatch>

/** By name. */
export const mcpServers = z.record(z.string(), MCPServer)
