import * as z from 'zod'
import type { Branch, Repository, UserGitInfo } from '../api/git-providers.ts'
import { Api } from './api.ts'
import { WORKSPACES } from './limits.ts'
import { asPath, pageNumber, utc } from './pages.ts'
import type { GitProvider, Listing, ProviderParts, RepositorySearch, Slice } from './provider.ts'
import { isDefaultSite } from './site.ts'

const paged = <T extends z.ZodType>(value: T) => z.object({ values: z.array(value), next: z.string().nullish() })

const Repos = paged(
  z.object({
    uuid: z.string(),
    full_name: z.string(),
    is_private: z.boolean(),
    updated_on: z.string().nullish(),
    mainbranch: z.object({ name: z.string() }).nullish(),
  }),
)
const Repo = Repos.shape.values.element
const User = z.object({
  uuid: z.string(),
  account_id: z.string().nullish(),
  username: z.string().nullish(),
  nickname: z.string().nullish(),
  display_name: z.string().nullish(),
  links: z.object({ avatar: z.object({ href: z.string() }).nullish() }).nullish(),
})
const Workspaces = paged(z.object({ workspace: z.object({ slug: z.string() }) }))
const Branches = paged(
  z.object({ name: z.string(), target: z.object({ hash: z.string(), date: z.string().nullish() }) }),
)

/** Bitbucket's cloud. A repository is listed by its workspace only: there is no list across them. */
export class Bitbucket implements GitProvider {
  readonly #api: Api

  constructor({ token, site, fetch, limits }: ProviderParts) {
    const base = isDefaultSite('bitbucket', site) ? 'https://api.bitbucket.org/2.0' : `${site}/2.0`
    const authorization = token.includes(':') ? `Basic ${Buffer.from(token).toString('base64')}` : `Bearer ${token}`
    this.#api = new Api({ provider: 'bitbucket', base, authorization, accept: 'application/json', fetch, limits })
  }

  async whoami(): Promise<UserGitInfo> {
    const { data } = await this.#api.get('/user', {}, User)
    return {
      id: data.account_id ?? data.uuid,
      login: data.username ?? data.nickname ?? data.uuid,
      avatar_url: data.links?.avatar?.href ?? '',
      company: null,
      name: data.display_name ?? null,
      email: null,
    }
  }

  /** Without a workspace, one after the other, those with nothing passed over. A cursor is then `workspace:page`. */
  async repositories(search: RepositorySearch): Promise<Listing<Repository>> {
    if (search.installation !== null) return this.#repositoriesIn(search.installation, search)
    const { items: workspaces } = await this.installations({ cursor: null, limit: WORKSPACES })
    const [first = '', page = null] = search.cursor?.split(':') ?? []
    const start = search.cursor === null ? 0 : workspaces.indexOf(first)
    const left = start < 0 ? [] : workspaces.slice(start)
    let cursor = page
    for (const [index, workspace] of left.entries()) {
      const { items, next } = await this.#repositoriesIn(workspace, { ...search, cursor })
      const after = left[index + 1]
      if (next !== null) return { items, next: `${workspace}:${next}` }
      if (items.length > 0) return { items, next: after === undefined ? null : `${after}:1` }
      cursor = null
    }
    return { items: [], next: null }
  }

  async repository(name: string): Promise<Repository | null> {
    const found = await this.#api.find(`/repositories/${asPath(name)}`, Repo)
    return found && repository(found)
  }

  branches(name: string, slice: Slice): Promise<Listing<Branch>> {
    return this.#branches(name, slice, undefined)
  }

  async searchBranches(repository: string, text: string, limit: number): Promise<Branch[]> {
    return (await this.#branches(repository, { cursor: null, limit }, contains(text))).items
  }

  async installations(slice: Slice): Promise<Listing<string>> {
    const query = { pagelen: slice.limit, page: pageNumber(slice) }
    const { data } = await this.#api.get('/user/workspaces', query, Workspaces)
    return { items: data.values.map(({ workspace }) => workspace.slug), next: nextOf(data, slice) }
  }

  async #repositoriesIn(workspace: string, search: RepositorySearch): Promise<Listing<Repository>> {
    const q = search.query === null ? undefined : contains(search.query.slice(search.query.indexOf('/') + 1))
    const sort = search.order === 'updated-asc' ? 'updated_on' : '-updated_on'
    const query = { role: 'member', q, sort, pagelen: search.limit, page: pageNumber(search) }
    const { data } = await this.#api.get(`/repositories/${encodeURIComponent(workspace)}`, query, Repos)
    return { items: data.values.map(repository), next: nextOf(data, search) }
  }

  async #branches(name: string, slice: Slice, q: string | undefined): Promise<Listing<Branch>> {
    const query = { q, sort: '-target.date', pagelen: slice.limit, page: pageNumber(slice) }
    const { data } = await this.#api.get(`/repositories/${asPath(name)}/refs/branches`, query, Branches)
    const items = data.values.map(({ name, target }) => ({
      name,
      commit_sha: target.hash,
      protected: false,
      last_push_date: utc(target.date),
    }))
    return { items, next: nextOf(data, slice) }
  }
}

/** In Bitbucket's own query language. */
const contains = (text: string): string => `name ~ "${text.replace(/["\\]/g, '\\$&')}"`

/** The address of the next page is only a sign that there is one: it is not followed. */
const nextOf = ({ next }: { next?: string | null | undefined }, slice: Slice): string | null =>
  next ? String(pageNumber(slice) + 1) : null

const repository = (repo: z.output<typeof Repo>): Repository => ({
  id: repo.uuid,
  full_name: repo.full_name,
  git_provider: 'bitbucket',
  is_public: !repo.is_private,
  stargazers_count: null,
  link_header: null,
  pushed_at: utc(repo.updated_on),
  owner_type: null,
  main_branch: repo.mainbranch?.name ?? null,
})
