import * as z from 'zod'
import type { Branch, Repository, SortOrder, UserGitInfo } from '../api/git-providers.ts'
import { Api } from './api.ts'
import { gitlabTasks } from './gitlab-tasks.ts'
import { pageNumber, utc } from './pages.ts'
import type { GitProvider, Listing, ProviderParts, RepositorySearch, Slice } from './provider.ts'

const Project = z.object({
  id: z.number(),
  path_with_namespace: z.string(),
  visibility: z.string().nullish(),
  star_count: z.int().nullish(),
  last_activity_at: z.string().nullish(),
  default_branch: z.string().nullish(),
  namespace: z.object({ kind: z.string() }).nullish(),
})
const User = z.object({
  id: z.number(),
  username: z.string(),
  avatar_url: z.string().nullish(),
  organization: z.string().nullish(),
  name: z.string().nullish(),
  email: z.string().nullish(),
})
const Branches = z.array(
  z.object({
    name: z.string(),
    commit: z.object({ id: z.string(), committed_date: z.string().nullish() }),
    protected: z.boolean().default(false),
  }),
)

/** By forks GitLab cannot sort. */
const SORTS: Partial<Record<SortOrder, { order_by: string; sort: string }>> = {
  'stars-desc': { order_by: 'star_count', sort: 'desc' },
  'stars-asc': { order_by: 'star_count', sort: 'asc' },
  'updated-desc': { order_by: 'last_activity_at', sort: 'desc' },
  'updated-asc': { order_by: 'last_activity_at', sort: 'asc' },
}
const NEWEST = { order_by: 'last_activity_at', sort: 'desc' }

export class GitLab implements GitProvider {
  readonly #api: Api
  readonly #graphql: string

  constructor({ token, site, fetch, limits }: ProviderParts) {
    const base = `${site}/api/v4`
    const accept = 'application/json'
    this.#api = new Api({ provider: 'gitlab', base, authorization: `Bearer ${token}`, accept, fetch, limits })
    this.#graphql = `${site}/api/graphql`
  }

  async whoami(): Promise<UserGitInfo> {
    const { data } = await this.#api.get('/user', {}, User)
    const { id, username, avatar_url, organization = null, name = null, email = null } = data
    return { id: String(id), login: username, avatar_url: avatar_url ?? '', company: organization || null, name, email }
  }

  async repositories(search: RepositorySearch): Promise<Listing<Repository>> {
    const { query, order, limit } = search
    const which = query === null ? { membership: true } : { search: query, search_namespaces: query.includes('/') }
    const sort = (order && SORTS[order]) ?? NEWEST
    const paging = { per_page: limit, page: pageNumber(search) }
    const { data, headers } = await this.#api.get('/projects', { ...which, ...sort, ...paging }, z.array(Project))
    return { items: data.map(repository), next: nextOf(headers) }
  }

  async repository(name: string): Promise<Repository | null> {
    const found = await this.#api.find(`/projects/${encodeURIComponent(name)}`, Project)
    return found && repository(found)
  }

  branches(name: string, slice: Slice): Promise<Listing<Branch>> {
    return this.#branches(name, slice, undefined)
  }

  async searchBranches(repository: string, text: string, limit: number): Promise<Branch[]> {
    return (await this.#branches(repository, { cursor: null, limit }, text)).items
  }

  suggestedTasks() {
    return gitlabTasks(this.#api, this.#graphql)
  }

  async #branches(name: string, slice: Slice, search: string | undefined): Promise<Listing<Branch>> {
    const path = `/projects/${encodeURIComponent(name)}/repository/branches`
    const query = { search, per_page: slice.limit, page: pageNumber(slice) }
    const { data, headers } = await this.#api.get(path, query, Branches)
    const items = data.map(({ name, commit, protected: kept }) => ({
      name,
      commit_sha: commit.id,
      protected: kept,
      last_push_date: utc(commit.committed_date),
    }))
    return { items, next: nextOf(headers) }
  }
}

/** Empty on the last page. */
const nextOf = (headers: Headers): string | null => headers.get('x-next-page') || null

const repository = (project: z.output<typeof Project>): Repository => ({
  id: String(project.id),
  full_name: project.path_with_namespace,
  git_provider: 'gitlab',
  is_public: project.visibility === 'public',
  stargazers_count: project.star_count ?? null,
  link_header: null,
  pushed_at: utc(project.last_activity_at),
  owner_type: project.namespace ? (project.namespace.kind === 'group' ? 'organization' : 'user') : null,
  main_branch: project.default_branch ?? null,
})
