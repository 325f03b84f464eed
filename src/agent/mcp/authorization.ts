import type { OAuthClientInformationMixed, OAuthServerInfo } from '@modelcontextprotocol/client'
import type { MCPAuthCredential, MCPOAuthState } from '../../api/mcp.ts'
import { Failure } from './failure.ts'

export type OAuth = Extract<MCPAuthCredential, { strategy: 'oauth2' }>

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

interface Options {
  /** Where the browser is sent back to. */
  redirectUrl: string
  /** Comes back with the browser; must not be guessable. */
  state: string
  fetch: Fetch
}

/** A login that a person has to go on with. */
export interface Authorization {
  /** Where they do. */
  url: URL
  /** Turns what the browser brought back into tokens. */
  redeem(answer: { code: string; iss: string | undefined }, fetch: Fetch): Promise<MCPOAuthState>
}

/** Finds out who gives logins for a server, makes us known there, and prepares one. */
export async function beginAuthorization(
  server: URL,
  { authentication }: OAuth,
  { redirectUrl, state, fetch }: Options,
): Promise<Authorization> {
  if (authentication?.client_auth_method === 'private_key_jwt')
    throw new Failure('unknown', 'private_key_jwt is not supported')
  const sdk = await import('@modelcontextprotocol/client')
  const challenge = await fetch(server, { headers: { Accept: 'text/event-stream' } })
  await challenge.body?.cancel()
  const asked = sdk.extractWWWAuthenticateParams(challenge)
  const found = await sdk.discoverOAuthServerInfo(server, {
    ...(asked.resourceMetadataUrl && { resourceMetadataUrl: asked.resourceMetadataUrl }),
    fetchFn: fetch,
  })
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
  const resource = resourceMetadata?.resource
  // Otherwise one server could have itself given the tokens of another.
  if (resource && !sdk.checkResourceAllowed({ requestedResource: server, configuredResource: resource }))
    throw new Failure('unknown', `it wants a login for another resource: ${resource}`)
  const scope = scopesOf(authentication) ?? asked.scope ?? resourceMetadata?.scopes_supported?.join(' ')
  const client =
    knownClient(authentication, metadata) ??
    (await sdk.registerClient(authorizationServerUrl, {
      ...(metadata && { metadata }),
      clientMetadata: {
        client_name: authentication?.client_name ?? 'Gantry',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: authentication?.client_auth_method ?? methodOf(metadata),
        ...authentication?.additional_client_metadata,
      },
      ...(scope && { scope }),
      fetchFn: fetch,
    }))
  const common = {
    ...(metadata && { metadata }),
    clientInformation: client,
    ...(resource && { resource }),
  }
  const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(authorizationServerUrl, {
    ...common,
    redirectUrl,
    state,
    ...(scope && { scope }),
  })
  if (!/^https?:$/.test(authorizationUrl.protocol)) throw new Failure('unknown', 'its page for logins is not one')
  return {
    url: authorizationUrl,
    redeem: async ({ code, iss }, fetch) => {
      const tokens = await sdk.exchangeAuthorization(authorizationServerUrl, {
        ...common,
        authorizationCode: code,
        ...(iss !== undefined && { iss }),
        codeVerifier,
        redirectUri: redirectUrl,
        fetchFn: fetch,
      })
      const { access_token, refresh_token = null, token_type, scope, expires_in } = tokens
      return {
        tokens: { access_token, refresh_token, token_type, scope, issuer: metadata?.issuer ?? authorizationServerUrl },
        client_info: { client_id: client.client_id, client_secret: client.client_secret ?? null },
        token_expires_at: expires_in === undefined ? null : Date.now() / 1_000 + expires_in,
      }
    },
  }
}

type Metadata = OAuthServerInfo['authorizationServerMetadata']

/** Who we are there without asking: as somebody arranged it, or by the address of a document about us. */
function knownClient(
  authentication: OAuth['authentication'],
  metadata: Metadata,
): OAuthClientInformationMixed | undefined {
  const { client_id, client_secret, client_auth_method, client_metadata_url } = authentication ?? {}
  if (client_id)
    return {
      client_id,
      ...(client_secret && { client_secret }),
      ...(client_auth_method && { token_endpoint_auth_method: client_auth_method }),
    } as OAuthClientInformationMixed
  const takes = (metadata as { client_id_metadata_document_supported?: boolean } | undefined)
    ?.client_id_metadata_document_supported
  return client_metadata_url && takes ? { client_id: client_metadata_url } : undefined
}

/** Without a secret where that is possible: the verifier proves as much. */
function methodOf(metadata: Metadata): string {
  const methods = metadata?.token_endpoint_auth_methods_supported
  return !methods || methods.includes('none') ? 'none' : (methods[0] ?? 'none')
}

const scopesOf = (authentication: OAuth['authentication']): string | undefined =>
  [authentication?.scopes ?? []].flat().join(' ') || undefined
