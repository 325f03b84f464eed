import type { LLMModel, Provider } from '../api/catalogue.ts'
import { type Page, pageOf } from '../lib/page.ts'

interface Search {
  page_id: string | null
  limit: number
  /** A part of a name, in any case. */
  query: string | null
  verified__eq: boolean | null
}

/** Which models and providers there are to choose from: a help, and no limit. An order may name others. */
export class Catalogue {
  readonly #list: () => Promise<readonly LLMModel[]>
  #listed: Promise<readonly LLMModel[]> | undefined

  /** `list` is asked once, when somebody first wants to know: verified ones first. */
  constructor(list: () => Promise<readonly LLMModel[]>) {
    this.#list = list
  }

  async searchModels({ provider__eq, ...search }: Search & { provider__eq: string | null }): Promise<Page<LLMModel>> {
    const all = await this.#all()
    return found(provider__eq === null ? all : all.filter(({ provider }) => provider === provider__eq), search)
  }

  async searchProviders(search: Search): Promise<Page<Provider>> {
    return found(providersOf(await this.#all()), search)
  }

  async providers(): Promise<string[]> {
    return providersOf(await this.#all()).map(({ name }) => name)
  }

  /** As an order names them. */
  async models(provider: string | null): Promise<string[]> {
    const all = await this.#all()
    return all.filter(model => provider === null || model.provider === provider).map(fullName)
  }

  /** By provider, without its name. */
  async verified(): Promise<Record<string, string[]>> {
    const verified = (await this.#all()).filter(model => model.verified)
    const byProvider = Map.groupBy(verified, ({ provider }) => provider ?? '')
    return Object.fromEntries([...byProvider].map(([provider, models]) => [provider, models.map(({ name }) => name)]))
  }

  #all(): Promise<readonly LLMModel[]> {
    this.#listed ??= this.#list()
    return this.#listed
  }
}

const fullName = ({ provider, name }: LLMModel): string => (provider === null ? name : `${provider}/${name}`)

/** The verified come first, each sort by name. */
function providersOf(models: readonly LLMModel[]): Provider[] {
  const byProvider = Map.groupBy(models, ({ provider }) => provider ?? '')
  const providers = [...byProvider].map(([name, own]) => ({ name, verified: own.some(({ verified }) => verified) }))
  return providers.sort((a, b) => Number(b.verified) - Number(a.verified) || (a.name < b.name ? -1 : 1))
}

function found<T extends Provider>(all: readonly T[], { query, verified__eq, ...page }: Search): Page<T> {
  const part = query?.toLowerCase() ?? ''
  const fits = ({ name, verified }: T) =>
    name.toLowerCase().includes(part) && (verified__eq === null || verified === verified__eq)
  return pageOf(all.filter(fits), page)
}
