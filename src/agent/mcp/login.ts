import type { AuthProvider } from '@modelcontextprotocol/client'
import type { MCPAuthCredential, MCPOAuthState } from '../../api/mcp.ts'
import { Failure } from './failure.ts'

type OAuth = Extract<MCPAuthCredential, { strategy: 'oauth2' }>

interface Options {
  fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** The tokens were renewed. The old ones may be void from now on. */
  onTokens(state: MCPOAuthState): void
}

/** Renewed so long before they end that a request on its way still finds them good. */
const EARLY_MS = 30_000

const needsLogin = (why: string) => new Failure('connection', `it needs a login: ${why}`)

/** Uses and renews the tokens of a login that took place elsewhere. It never begins one: nobody may be there to answer. */
export function login(server: URL, { state, authentication }: OAuth, { fetch, onTokens }: Options): AuthProvider {
  let current = state
  let renewing: Promise<void> | undefined

  const renew = async (resourceMetadataUrl?: URL) => {
    const { discoverOAuthServerInfo, refreshAuthorization, OAuthError } = await import('@modelcontextprotocol/client')
    const refreshToken = current?.tokens?.refresh_token
    const known = { ...authentication, ...present(current?.client_info) } as Record<string, unknown>
    if (!refreshToken || typeof known.client_id !== 'string') throw needsLogin('the last one has expired')
    const found = await discoverOAuthServerInfo(server, { resourceMetadataUrl, fetchFn: fetch })
    const issuer = found.authorizationServerMetadata?.issuer ?? found.authorizationServerUrl
    const trusted = current?.tokens?.issuer ?? known.issuer
    if (typeof trusted === 'string' && trusted !== issuer) throw needsLogin('it now names another issuer of logins')
    try {
      const fresh = await refreshAuthorization(found.authorizationServerUrl, {
        metadata: found.authorizationServerMetadata,
        clientInformation: {
          client_id: known.client_id,
          ...(typeof known.client_secret === 'string' && { client_secret: known.client_secret }),
          ...(authentication?.client_auth_method && { token_endpoint_auth_method: authentication.client_auth_method }),
        },
        refreshToken,
        resource: found.resourceMetadata?.resource,
        fetchFn: fetch,
      })
      current = {
        client_info: current?.client_info ?? null,
        tokens: { ...current?.tokens, ...fresh, refresh_token: fresh.refresh_token ?? refreshToken },
        token_expires_at: fresh.expires_in === undefined ? null : Date.now() / 1_000 + fresh.expires_in,
      }
    } catch (error) {
      throw error instanceof OAuthError ? needsLogin(`the last one cannot be renewed (${error.code})`) : error
    }
    onTokens(current)
  }
  const renewed = (resourceMetadataUrl?: URL) => {
    renewing ??= renew(resourceMetadataUrl).finally(() => {
      renewing = undefined
    })
    return renewing
  }

  return {
    token: async () => {
      if (!current?.tokens?.access_token) throw needsLogin('there has been none yet')
      const end = current.token_expires_at
      if (end !== null && end * 1_000 - EARLY_MS < Date.now()) await renewed()
      return current.tokens.access_token ?? undefined
    },
    onUnauthorized: async ({ response }) => {
      const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
      await renewed(extractWWWAuthenticateParams(response).resourceMetadataUrl)
    },
  }
}

const present = (fields: object | null | undefined) =>
  Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== null && value !== undefined))
