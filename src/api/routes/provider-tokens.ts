import { route } from '../route.ts'
import { StoredResponse } from '../settings.ts'
import { StoreProviderTokensRequest } from '../user-secrets.ts'

const store = {
  tag: 'Secrets',
  summary: 'Store the tokens of git providers, once each is known to be good',
  access: 'key',
  body: StoreProviderTokensRequest,
  responses: { 200: StoredResponse },
  errors: ['provider_unauthorized', 'provider_unsupported', 'provider_unavailable'],
} as const

const remove = {
  tag: 'Secrets',
  summary: 'Remove the tokens of all git providers',
  access: 'key',
  responses: { 200: StoredResponse },
} as const

export const providerTokenRoutes = {
  storeProviderTokens: route({ ...store, method: 'POST', path: '/api/v1/secrets/git-providers' }),
  removeProviderTokens: route({ ...remove, method: 'DELETE', path: '/api/v1/secrets/git-providers' }),
  addGitProviders: route({ ...store, method: 'POST', path: '/api/add-git-providers' }),
  unsetProviderTokens: route({ ...remove, method: 'POST', path: '/api/unset-provider-tokens' }),
}
