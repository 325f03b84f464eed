import { fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'

/** Where each provider is unless a token says otherwise. Those without a place of their own have none. */
const DEFAULTS: Partial<Record<ProviderType, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://bitbucket.org',
  forgejo: 'https://codeberg.org',
  azure_devops: 'https://dev.azure.com',
}

/**
 * The address of a provider's pages, without a slash at its end: `https://github.example.com`. A host may bring its scheme, its
 * port and, where the provider does not live at the root, a path.
 */
export function siteOf(provider: ProviderType, host: string | null): string {
  const given = host?.trim() || DEFAULTS[provider]
  if (given === undefined) throw fault('invalid_request', `A ${provider} token needs the host it is for`)
  const url = URL.parse(/^https?:\/\//i.test(given) ? given : `https://${given}`)
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash && url.hostname
  if (!isPlain || !/^(\/[\w.~-]+)*\/?$/.test(url.pathname))
    throw fault('invalid_request', `The ${provider} host is not a host name`)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

export const isDefaultSite = (provider: ProviderType, site: string): boolean => DEFAULTS[provider] === site

/** As `siteOf`; undefined where a provider has no place. */
export const knownSite = (provider: ProviderType, host: string | null): string | undefined =>
  host || DEFAULTS[provider] ? siteOf(provider, host) : undefined
