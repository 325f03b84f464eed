import { fault } from '../api/errors.ts'
import { ProviderType, type UserGitInfo } from '../api/git-providers.ts'
import { isFault } from './api.ts'
import { checkToken, credentialOf } from './credential.ts'
import { CALL_LIMITS, type CallLimits } from './limits.ts'
import { cloneUrl, fits, nameIn, parseOrdered } from './name.ts'
import type { Access, GitProvider, ProviderParts } from './provider.ts'
import type { Remote } from './remote.ts'
import { knownSite, siteOf } from './site.ts'

export interface GitProvidersParts {
  /** What is stored by provider, tokens opened. */
  tokens(): Promise<Record<string, { token?: string | null; host?: string | null }>>
  fetch: typeof globalThis.fetch
  limits?: CallLimits
}

type Make = new (parts: ProviderParts) => GitProvider
type Tokens = Partial<Record<ProviderType, Access>>

/** Whom we can talk to, each loaded with its first call. The others are only cloned from. */
const MAKERS: Partial<Record<ProviderType, () => Promise<Make>>> = {
  github: async () => (await import('./github.ts')).GitHub,
  gitlab: async () => (await import('./gitlab.ts')).GitLab,
  bitbucket: async () => (await import('./bitbucket.ts')).Bitbucket,
  forgejo: async () => (await import('./forgejo.ts')).Forgejo,
}

/** The places that keep a person's repositories, by the tokens that were stored for them. */
export class GitProviders {
  readonly #parts: GitProvidersParts

  constructor(parts: GitProvidersParts) {
    this.#parts = parts
  }

  async of(provider: ProviderType): Promise<GitProvider> {
    const access = (await this.#tokens())[provider]
    if (!access) throw fault('git_token_required')
    const made = await this.#make(provider, access)
    if (!made) throw fault('provider_unsupported', 'Listing', provider)
    return made
  }

  /** Every one there is a token for and that we can talk to. */
  async all(): Promise<GitProvider[]> {
    const tokens = Object.entries(await this.#tokens()) as [ProviderType, Access][]
    if (tokens.length === 0) throw fault('git_token_required')
    const made = await answers(tokens.map(([provider, access]) => this.#make(provider, access)))
    return made.filter(one => one !== undefined)
  }

  /** Rejects unless the provider takes the token. Of one that cannot be asked, only what is said is looked at. */
  async check(provider: ProviderType, { token, host }: { token: string; host?: string | null }): Promise<void> {
    if (provider === 'enterprise_sso') throw fault('provider_unsupported', 'Tokens', provider)
    const made = await this.#make(provider, { token: token.trim(), host: host ?? null })
    await made?.whoami().catch(error => {
      // It knows the token, which just may not ask whose it is.
      if (isFault(error, 'provider_forbidden')) return
      throw isFault(error, 'provider_not_found')
        ? fault('provider_unavailable', provider, 'is not at this host')
        : error
    })
  }

  /** Whose tokens these are, by the first provider that says so. */
  async whoami(): Promise<UserGitInfo> {
    if (Object.keys(await this.#tokens()).length === 0) throw fault('git_user_unknown')
    let failed: unknown = fault('git_user_unknown')
    for (const one of await this.all())
      try {
        return await one.whoami()
      } catch (error) {
        failed = error
      }
    throw failed
  }

  /** Where to fetch a repository from, given as `owner/name` or by the address of a known host, and with what. */
  async remoteOf(repository: string, provider: ProviderType | null): Promise<Remote> {
    const ordered = parseOrdered(repository)
    const tokens = await this.#tokens()
    if ('url' in ordered) return remoteAt(ordered.url, provider, tokens)
    const chosen = provider ?? (await this.keeperOf(ordered.name))
    return remote(chosen, ordered.name, tokens[chosen])
  }

  /** Who has a repository, where nobody said: the only one with a token, or who knows it; else it is public. */
  async keeperOf(name: string): Promise<ProviderType> {
    const tokens = await this.#tokens()
    const able = ProviderType.options.filter(provider => tokens[provider] && fits(provider, name))
    if (able.length === 1) return able[0]!
    const knows = async (provider: ProviderType) => {
      const made = await this.#make(provider, tokens[provider]!)
      return (await made?.repository(name)) ? provider : undefined
    }
    const known = await Promise.all(able.map(provider => knows(provider).catch(() => undefined)))
    return known.find(provider => provider !== undefined) ?? (fits('github', name) ? 'github' : 'gitlab')
  }

  async #tokens(): Promise<Tokens> {
    const stored = await this.#parts.tokens()
    const tokens: Tokens = {}
    for (const provider of ProviderType.options) {
      const { token, host } = stored[provider] ?? {}
      if (token?.trim()) tokens[provider] = { token: token.trim(), host: host?.trim() || null }
    }
    return tokens
  }

  async #make(provider: ProviderType, { token, host }: Access): Promise<GitProvider | undefined> {
    checkToken(provider, token)
    const site = siteOf(provider, host)
    const { fetch, limits = CALL_LIMITS } = this.#parts
    const Made = await MAKERS[provider]?.()
    return Made && new Made({ token, site, fetch, limits })
  }
}

/** What those say who can; when nobody can, why the first could not. */
export async function answers<T>(asked: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(asked)
  const given = settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  const failed = settled.find(one => one.status === 'rejected')
  if (given.length === 0 && failed) throw failed.reason
  return given
}

function remote(provider: ProviderType, repository: string, access: Access | undefined): Remote {
  if (!fits(provider, repository)) throw fault('invalid_request', `No repository of ${provider} has such a name`)
  const url = cloneUrl(provider, siteOf(provider, access?.host ?? null), repository)
  return { provider, repository, url, credential: access ? credentialOf(provider, access.token) : null }
}

function remoteAt(url: string, named: ProviderType | null, tokens: Tokens): Remote {
  for (const provider of named ? [named] : ProviderType.options) {
    const access = tokens[provider]
    const hosts = access?.host ? [access.host, null] : [null]
    for (const host of hosts) {
      const site = knownSite(provider, host)
      if (site === undefined || !url.startsWith(`${site}/`)) continue
      return remote(provider, nameIn(provider, url.slice(site.length + 1)), host === access?.host ? access : undefined)
    }
  }
  throw fault('invalid_request', 'The address is of no known git host: store a token that names the host first')
}
