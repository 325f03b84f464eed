import * as z from 'zod'
import type { Branch, Repository, UserGitInfo } from '../api/git-providers.ts'
import { type Answer, Api, isFault } from './api.ts'
import { githubTasks } from './github-tasks.ts'
import { asPath, nextByLink, pageNumber, utc } from './pages.ts'
import type { GitProvider, Listing, ProviderParts, RepositorySearch, Slice } from './provider.ts'
import { isDefaultSite } from './site.ts'

const Repo = z.object({
  id: z.number(),
  full_name: z.string(),
  private: z.boolean(),
  stargazers_count: z.int().nullish(),
  pushed_at: z.string().nullish(),
  default_branch: z.string().nullish(),
  owner: z.object({ type: z.string() }).nullish(),
})
const User = z.object({
  id: z.number(),
  login: z.string(),
  avatar_url: z.string(),
  company: z.string().nullish(),
  name: z.string().nullish(),
  email: z.string().nullish(),
})
const Found = z.object({ items: z.array(Repo) })
const Installed = z.object({ repositories: z.array(Repo) })
const Installations = z.object({ installations: z.array(z.object({ id: z.number() })) })
const Branches = z.array(
  z.object({ name: z.string(), commit: z.object({ sha: z.string() }), protected: z.boolean().default(false) }),
)

const BRANCHES = `query($owner: String!, $name: String!, $text: String!, $limit: Int!) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/", query: $text, first: $limit) {
      nodes { name target { oid ... on Commit { committedDate } } branchProtectionRule { id } }
    }
  }
}`
const FoundBranches = z.object({
  repository: z.object({
    refs: z.object({
      nodes: z.array(
        z.object({
          name: z.string(),
          target: z.object({ oid: z.string(), committedDate: z.string().nullish() }),
          branchProtectionRule: z.object({}).nullish(),
        }),
      ),
    }),
  }),
})

/** github.com, its enterprise cloud, or an enterprise server. */
export class GitHub implements GitProvider {
  readonly #api: Api
  readonly #graphql: string

  constructor({ token, site, fetch, limits }: ProviderParts) {
    const { rest, graphql } = endpoints(site)
    const accept = 'application/vnd.github+json'
    this.#api = new Api({ provider: 'github', base: rest, authorization: `Bearer ${token}`, accept, fetch, limits })
    this.#graphql = graphql
  }

  async whoami(): Promise<UserGitInfo> {
    const { data } = await this.#api.get('/user', {}, User)
    const { id, login, avatar_url, company = null, name = null, email = null } = data
    return { id: String(id), login, avatar_url, company, name, email }
  }

  async repositories(search: RepositorySearch): Promise<Listing<Repository>> {
    const { query, installation, order, limit } = search
    const paging = { per_page: limit, page: pageNumber(search) }
    const listing = ({ headers }: Answer<unknown>, repos: z.output<typeof Repo>[]) => ({
      items: repos.map(repository),
      next: nextByLink(headers, search),
    })
    if (query !== null) {
      const [sort, direction] = order?.split('-') ?? []
      const answer = await this.#api.get(
        '/search/repositories',
        { q: wordsOf(query), sort, order: direction, ...paging },
        Found,
      )
      return listing(answer, answer.data.items)
    }
    if (installation !== null) {
      const path = `/user/installations/${encodeURIComponent(installation)}/repositories`
      const answer = await this.#api.get(path, paging, Installed)
      return listing(answer, answer.data.repositories)
    }
    const answer = await this.#api.get('/user/repos', { sort: 'pushed', ...paging }, z.array(Repo))
    return listing(answer, answer.data)
  }

  async repository(name: string): Promise<Repository | null> {
    const found = await this.#api.find(`/repos/${asPath(name)}`, Repo)
    return found && repository(found)
  }

  async branches(name: string, slice: Slice): Promise<Listing<Branch>> {
    const query = { per_page: slice.limit, page: pageNumber(slice) }
    const { data, headers } = await this.#api.get(`/repos/${asPath(name)}/branches`, query, Branches)
    const items = data.map(({ name, commit, protected: kept }) => ({
      name,
      commit_sha: commit.sha,
      protected: kept,
      last_push_date: null,
    }))
    return { items, next: nextByLink(headers, slice) }
  }

  async searchBranches(repository: string, text: string, limit: number): Promise<Branch[]> {
    const [owner, name] = repository.split('/')
    const found = await this.#api.graphql(this.#graphql, BRANCHES, { owner, name, text, limit }, FoundBranches)
    return found.repository.refs.nodes.map(({ name, target, branchProtectionRule }) => ({
      name,
      commit_sha: target.oid,
      protected: !!branchProtectionRule,
      last_push_date: utc(target.committedDate),
    }))
  }

  /** A token that a person made belongs to no app, and may not ask: it has none. */
  async installations(slice: Slice): Promise<Listing<string>> {
    const query = { per_page: slice.limit, page: pageNumber(slice) }
    try {
      const { data, headers } = await this.#api.get('/user/installations', query, Installations)
      return { items: data.installations.map(({ id }) => String(id)), next: nextByLink(headers, slice) }
    } catch (error) {
      if (isFault(error, 'provider_forbidden')) return { items: [], next: null }
      throw error
    }
  }

  suggestedTasks() {
    return githubTasks(this.#api, this.#graphql)
  }
}

function endpoints(site: string): { rest: string; graphql: string } {
  if (isDefaultSite('github', site)) return endpointsAt('https://api.github.com')
  const { protocol, hostname } = new URL(site)
  if (hostname.endsWith('.ghe.com')) return endpointsAt(`${protocol}//api.${hostname}`)
  return { rest: `${site}/api/v3`, graphql: `${site}/api/graphql` }
}

const endpointsAt = (base: string) => ({ rest: base, graphql: `${base}/graphql` })

/** What is looked for in names; with a slash, the owner first. Forks count too. */
function wordsOf(query: string): string {
  const slash = query.indexOf('/')
  const [owner, words] = slash < 0 ? ['', query] : [query.slice(0, slash), query.slice(slash + 1)]
  return [words, 'in:name', 'fork:true', owner && `user:${owner}`].filter(Boolean).join(' ')
}

const repository = (repo: z.output<typeof Repo>): Repository => ({
  id: String(repo.id),
  full_name: repo.full_name,
  git_provider: 'github',
  is_public: !repo.private,
  stargazers_count: repo.stargazers_count ?? null,
  link_header: null,
  pushed_at: utc(repo.pushed_at),
  owner_type: repo.owner ? (repo.owner.type === 'Organization' ? 'organization' : 'user') : null,
  main_branch: repo.default_branch ?? null,
})
