import type { providerTokenRoutes } from '../../api/routes/provider-tokens.ts'
import type { ProviderTokens } from '../../api/user-secrets.ts'
import { type CheckToken, storeTokens } from '../../settings/provider-tokens.ts'
import type { SettingsService } from '../../settings/settings.ts'
import type { Handlers } from '../server.ts'
import { withOlderErrors } from './older-errors.ts'

export function providerTokenHandlers(
  settings: SettingsService,
  check: CheckToken,
): Handlers<typeof providerTokenRoutes> {
  const store = async (posted: ProviderTokens | undefined) => {
    if (posted) await storeTokens(settings, check, posted)
    return { message: 'Git providers stored' }
  }
  const remove = async () => {
    await settings.storeProviderTokens({})
    return { message: 'Unset Git provider tokens' }
  }
  return {
    storeProviderTokens: ({ body }) => store(body.provider_tokens),
    removeProviderTokens: remove,
    addGitProviders: ({ body }) => withOlderErrors(store(body.provider_tokens)),
    unsetProviderTokens: remove,
  }
}
