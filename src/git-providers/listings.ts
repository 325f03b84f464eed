import { fault } from '../api/errors.ts'
import type { Branch, ProviderType, Repository, SortOrder, SuggestedTask } from '../api/git-providers.ts'
import { type Page, pageOf } from '../lib/page.ts'
import { repositoryName } from './name.ts'
import { cursorOf, pageIdOf, pageNumber } from './pages.ts'
import type { Listing } from './provider.ts'
import { answers, type GitProviders } from './providers.ts'

interface Paging {
  page_id: string | null
  limit: number
}

/** What a person's providers have, page by page. */
export class GitListings {
  readonly #providers: GitProviders

  constructor(providers: GitProviders) {
    this.#providers = providers
  }

  async installations({ provider, ...paging }: Paging & { provider: ProviderType }): Promise<Page<string>> {
    const asked = await this.#providers.of(provider)
    if (!asked.installations) throw fault('provider_unsupported', 'Installations', provider)
    return page(await asked.installations(sliceOf(paging)))
  }

  async repositories(
    search: Paging & {
      provider: ProviderType
      query: string | null
      installation_id: string | null
      sort_order: SortOrder | null
    },
  ): Promise<Page<Repository>> {
    const query = search.query?.trim() ? nameInQuery(search.query) : null
    if (query === null && search.sort_order !== null)
      throw fault('bad_request', 'sort_order is only for a search: give a query')
    const asked = await this.#providers.of(search.provider)
    const wanted = { query, installation: search.installation_id || null, order: search.sort_order }
    return page(await asked.repositories({ ...wanted, ...sliceOf(search) }))
  }

  async branches(
    search: Paging & { provider: ProviderType | null; repository: string; query: string },
  ): Promise<Page<Branch>> {
    const name = repositoryName(search.repository)
    const slice = sliceOf(search)
    if (search.query && pageNumber(slice) > 1) throw fault('bad_request', 'A search for branches has one page only')
    const asked = await this.#providers.of(search.provider ?? (await this.#providers.keeperOf(name)))
    if (!search.query) return page(await asked.branches(name, slice))
    return page({ items: await asked.searchBranches(name, search.query, slice.limit), next: null })
  }

  /** Of all providers together. */
  async suggestedTasks(paging: Paging): Promise<Page<SuggestedTask>> {
    return pageOf(await this.allTasks(), paging)
  }

  async allTasks(): Promise<SuggestedTask[]> {
    const asked = await this.#providers.all()
    return (await answers(asked.map(async one => (await one.suggestedTasks?.()) ?? []))).flat()
  }

  /** By the number of a page. Clients of that form find the next one in `link_header`. */
  async numberedRepositories(search: {
    selected_provider: ProviderType | null
    page: number
    per_page: number
    installation_id: string | null
  }): Promise<Repository[]> {
    const { selected_provider: provider, installation_id, page: number, per_page: limit } = search
    if (provider === null) return number === 1 ? this.#everywhere({ query: null, order: null, limit }) : []
    const page_id = number === 1 ? null : pageIdOf(String(number))
    const listed = { provider, installation_id, page_id, limit, query: null, sort_order: null }
    const { items, next_page_id } = await this.repositories(listed)
    const link_header = next_page_id === null ? null : `<?page=${number + 1}>; rel="next"`
    return items.map(item => ({ ...item, link_header }))
  }

  async foundRepositories(search: {
    selected_provider: ProviderType | null
    query: string
    sort: 'stars' | 'forks' | 'updated'
    order: 'asc' | 'desc'
    per_page: number
  }): Promise<Repository[]> {
    const { selected_provider: provider, sort, order, per_page: limit } = search
    const query = nameInQuery(search.query)
    const sort_order = `${sort}-${order}` as const
    if (provider === null) return this.#everywhere({ query, order: sort_order, limit })
    const found = { provider, query, sort_order, limit, installation_id: null, page_id: null }
    return (await this.repositories(found)).items
  }

  async numberedBranches(search: {
    selected_provider: ProviderType | null
    repository: string
    page: number
    per_page: number
  }): Promise<Branch[]> {
    const { selected_provider: provider, repository, page: number, per_page: limit } = search
    return (await this.branches({ provider, repository, limit, query: '', page_id: pageIdOf(String(number)) })).items
  }

  /** As many of each provider. */
  async #everywhere(search: { query: string | null; order: SortOrder | null; limit: number }): Promise<Repository[]> {
    const asked = await this.#providers.all()
    const found = asked.map(one => one.repositories({ ...search, installation: null, cursor: null }))
    return (await answers(found)).flatMap(({ items }) => items)
  }
}

const sliceOf = ({ page_id, limit }: Paging) => ({ cursor: cursorOf(page_id), limit })

const page = <T>({ items, next }: Listing<T>): Page<T> => ({ items, next_page_id: pageIdOf(next) })

/** People look for a repository by its address too. */
const nameInQuery = (query: string): string => query.trim().replace(/^https?:\/\/[^/]+\/(.+?)(\.git)?\/?$/i, '$1')
