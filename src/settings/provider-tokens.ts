import { Fault } from '../api/errors.ts'
import { ProviderType } from '../api/git-providers.ts'
import { MASK } from '../api/secret.ts'
import type { ProviderTokens } from '../api/user-secrets.ts'
import { isBlank } from './merge.ts'
import type { SettingsService } from './settings.ts'

/** Rejects when a provider does not take a token. */
export type CheckToken = (provider: ProviderType, given: { token: string; host: string | null }) => Promise<void>

/** Checks every token that is new, or meant for another host than before, then stores them all or none. */
export async function storeTokens(settings: SettingsService, check: CheckToken, posted: ProviderTokens): Promise<void> {
  const stored = await settings.providerTokens()
  const changed = Object.entries(replacedTokens(stored, posted)).filter(([provider, { token, host }]) => {
    const old = stored[provider]
    return token !== old?.token || (host ?? null) !== (old?.host ?? null)
  })
  const checks = changed.map(([provider, { token, host }]) =>
    check(provider as ProviderType, { token: token!, host: host ?? null }),
  )
  const failures = (await Promise.allSettled(checks)).flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
  if (failures.length > 0) throw together(failures)
  await settings.storeProviderTokens(posted)
}

/** All that went wrong, as one: a refused token counts before a provider that could not be asked. */
function together(failures: unknown[]): unknown {
  const faults = failures.filter(failure => failure instanceof Fault)
  if (faults.length < failures.length) return failures.find(failure => !(failure instanceof Fault))
  if (faults.length === 1) return faults[0]
  const { code } = faults.find(({ code }) => code === 'provider_unauthorized') ?? faults[0]!
  return new Fault(code, faults.map(({ message }) => message).join(' '))
}

/** What `posted` makes of `stored`. Forms send every provider, with "" for what they do not know: without a token it is none. */
export function replacedTokens(stored: ProviderTokens, posted: ProviderTokens): ProviderTokens {
  const next = Object.entries(posted).flatMap(([provider, { token, host, user_id }]) => {
    const old = stored[provider]
    const kept = !token || isBlank(token) || token === MASK ? old?.token : token.trim()
    const said = {
      token: kept,
      host: host === undefined ? old?.host : host || null,
      user_id: user_id === undefined ? old?.user_id : user_id || null,
    }
    return kept ? [[provider, said] as const] : []
  })
  return Object.fromEntries(next)
}

/** Under which name a command is given the token of a provider: `GITHUB_TOKEN`. */
const tokenName = (provider: string): string => `${provider.toUpperCase()}_TOKEN`

/** By that name, sealed. */
export function tokenSecrets(tokens: ProviderTokens): ReadonlyMap<string, { value: string; description: string }> {
  const named = ProviderType.options
    .filter(provider => provider !== 'enterprise_sso')
    .flatMap(provider => {
      const value = Object.hasOwn(tokens, provider) ? tokens[provider]!.token : undefined
      return value ? [[tokenName(provider), { value, description: `Access token of ${provider}` }] as const] : []
    })
  return new Map(named)
}
