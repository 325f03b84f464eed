import * as z from 'zod'
import type { Branch, Repository, UserGitInfo } from '../api/git-providers.ts'
import { Api } from './api.ts'
import { BRANCH_PAGES } from './limits.ts'
import { asPath, nextByLink, pageNumber, utc } from './pages.ts'
import type { GitProvider, Listing, ProviderParts, RepositorySearch, Slice } from './provider.ts'

const Repo = z.object({
  id: z.number(),
  full_name: z.string(),
  private: z.boolean(),
  stars_count: z.int().nullish(),
  updated_at: z.string().nullish(),
  default_branch: z.string().nullish(),
})
const Found = z.object({ data: z.array(Repo) })
const User = z.object({
  id: z.number(),
  login: z.string(),
  avatar_url: z.string().nullish(),
  full_name: z.string().nullish(),
  email: z.string().nullish(),
})
const Branches = z.array(
  z.object({
    name: z.string(),
    commit: z.object({ id: z.string(), timestamp: z.string().nullish() }),
    protected: z.boolean().default(false),
  }),
)

/** Forgejo, and Gitea of which it came. */
export class Forgejo implements GitProvider {
  readonly #api: Api

  constructor({ token, site, fetch, limits }: ProviderParts) {
    const base = `${site}/api/v1`
    const accept = 'application/json'
    this.#api = new Api({ provider: 'forgejo', base, authorization: `token ${token}`, accept, fetch, limits })
  }

  async whoami(): Promise<UserGitInfo> {
    const { data } = await this.#api.get('/user', {}, User)
    const { id, login, avatar_url, full_name, email } = data
    return {
      id: String(id),
      login,
      avatar_url: avatar_url ?? '',
      company: null,
      name: full_name || null,
      email: email || null,
    }
  }

  async repositories(search: RepositorySearch): Promise<Listing<Repository>> {
    const paging = { limit: search.limit, page: pageNumber(search) }
    if (search.query === null) {
      const { data, headers } = await this.#api.get('/user/repos', paging, z.array(Repo))
      return { items: data.map(repository), next: nextByLink(headers, search) }
    }
    const [sort, order] = search.order?.split('-') ?? []
    const { data, headers } = await this.#api.get('/repos/search', { q: search.query, sort, order, ...paging }, Found)
    return { items: data.data.map(repository), next: nextByLink(headers, search) }
  }

  async repository(name: string): Promise<Repository | null> {
    const found = await this.#api.find(`/repos/${asPath(name)}`, Repo)
    return found && repository(found)
  }

  async branches(name: string, slice: Slice): Promise<Listing<Branch>> {
    const query = { limit: slice.limit, page: pageNumber(slice) }
    const { data, headers } = await this.#api.get(`/repos/${asPath(name)}/branches`, query, Branches)
    const items = data.map(({ name, commit, protected: kept }) => ({
      name,
      commit_sha: commit.id,
      protected: kept,
      last_push_date: utc(commit.timestamp),
    }))
    return { items, next: nextByLink(headers, slice) }
  }

  /** It cannot search: its list is looked through. */
  async searchBranches(repository: string, text: string, limit: number): Promise<Branch[]> {
    const wanted = text.toLowerCase()
    const found: Branch[] = []
    let cursor: string | null = null
    for (let page = 0; page < BRANCH_PAGES && found.length < limit; page++) {
      const { items, next }: Listing<Branch> = await this.branches(repository, { cursor, limit: 50 })
      found.push(...items.filter(({ name }) => name.toLowerCase().includes(wanted)))
      if (next === null) break
      cursor = next
    }
    return found.slice(0, limit)
  }
}

const repository = (repo: z.output<typeof Repo>): Repository => ({
  id: String(repo.id),
  full_name: repo.full_name,
  git_provider: 'forgejo',
  is_public: !repo.private,
  stargazers_count: repo.stars_count ?? null,
  link_header: null,
  pushed_at: utc(repo.updated_at),
  owner_type: null,
  main_branch: repo.default_branch ?? null,
})
