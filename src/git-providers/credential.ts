import { fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import type { Remote } from './remote.ts'

/** Beside which the token is the password; what stands there otherwise does not matter. */
const USERNAMES: Record<ProviderType, string> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  bitbucket: 'x-token-auth',
  bitbucket_data_center: 'x-token-auth',
  forgejo: 'oauth2',
  azure_devops: 'oh',
  enterprise_sso: 'oauth2',
}

/** Refuses what no token is. It would end a header or a line of git's own protocol, and their refusals would quote it. */
export function checkToken(provider: ProviderType, token: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) throw fault('provider_unauthorized', provider)
}

/** What git is given for a stored token. A token with a colon is a user's name, or e-mail address, and password. */
export function credentialOf(provider: ProviderType, token: string): NonNullable<Remote['credential']> {
  checkToken(provider, token)
  const variable = `${provider.toUpperCase()}_TOKEN`
  const colon = provider.startsWith('bitbucket') ? token.indexOf(':') : -1
  if (colon < 0) return { username: USERNAMES[provider], token, variable }
  const user = token.slice(0, colon)
  // Unlike the API, git knows nobody by an e-mail address.
  const username = user.includes('@') ? 'x-bitbucket-api-token-auth' : user
  return { username, token: token.slice(colon + 1), variable }
}
