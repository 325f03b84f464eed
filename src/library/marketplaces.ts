import { posix } from 'node:path'
import * as z from 'zod'
import { Fault, fault } from '../api/errors.ts'
import type { SyncResponse } from '../api/installed-skills.ts'
import type { MarketplaceSkillsResponse } from '../api/skill-library.ts'
import type { MarketplaceRegistration } from '../api/skills.ts'
import type { Log } from '../lib/log.ts'
import { recently } from '../lib/recently.ts'
import type { Destination } from './fetch.ts'
import { MARKETPLACE_MS } from './limits.ts'
import { inOne, placeOf, type Source } from './source.ts'

export interface Offer {
  kind: 'skill' | 'plugin'
  name: string
  description: string | null
  marketplace: string
  from: Source
}

/** What marketplaces have, and what is wrong with those that have nothing. */
export interface Lists {
  offers: Offer[]
  problems: string[]
}

export interface MarketplacesParts {
  /** By whoever set this server up, who may use what is stored to open them. */
  registered: readonly MarketplaceRegistration[]
  /** The first of these files that is there, in what a source leads to. With a destination, by the right of whoever asks. */
  readText(source: Source, paths: readonly string[], destination?: Destination): Promise<string | undefined>
  log: Log
}

/** Where the list of a marketplace lies. */
const MANIFESTS = ['.plugin', '.claude-plugin', '.'].map(folder => posix.join(folder, 'marketplace.json'))
const PATHS = [...MANIFESTS, 'marketplaces/default.json']

const Elsewhere = z.object({
  source: z.string(),
  repo: z.string().optional(),
  url: z.string().optional(),
  ref: z.string().nullish(),
  path: z.string().nullish(),
})
const Manifest = z.object({
  metadata: z.object({ pluginRoot: z.string().optional() }).nullish(),
  plugins: z.array(
    z.object({ name: z.string(), description: z.string().nullish(), source: z.union([z.string(), Elsewhere]) }),
  ),
})

/** Lists of skills and plugins that others keep. One that cannot be read has nothing to offer. */
export class Marketplaces {
  readonly #parts: MarketplacesParts
  #registered: () => Promise<Lists>

  constructor(parts: MarketplacesParts) {
    this.#parts = parts
    this.#registered = this.#fresh()
  }

  /** Of those that are registered. */
  async offers(kind: Offer['kind']): Promise<Offer[]> {
    const { offers } = await this.#registered()
    return offers.filter(offer => offer.kind === kind)
  }

  async sync(): Promise<SyncResponse> {
    this.#registered = this.#fresh()
    const { offers, problems } = await this.#registered()
    return problems.length > 0
      ? { status: 'error', message: problems.join('; ') }
      : { status: 'success', message: `${this.#parts.registered.length} marketplaces offer ${offers.length} packages` }
  }

  /** What these offer to whoever asks; their lists are looked for at `path` first. */
  list(registrations: readonly MarketplaceRegistration[], destination: Destination, path?: string): Promise<Lists> {
    return this.#read(registrations, destination, path === undefined ? PATHS : [path, ...PATHS])
  }

  /** What there would be, were these registered. */
  async preview(registrations: readonly MarketplaceRegistration[]): Promise<MarketplaceSkillsResponse> {
    const { offers, problems } = await this.#read(registrations, {})
    const skills = offers.filter(({ kind }) => kind === 'skill')
    return {
      skills: skills.map(({ name }) => ({ name, type: 'agentskills', source: 'global', triggers: null })),
      plugins: offers.flatMap(({ kind, name, description, marketplace, from }) =>
        kind === 'plugin' ? [{ name, description, source: inOne(from), marketplace }] : [],
      ),
      marketplace_skills: Object.fromEntries(
        Object.entries(Object.groupBy(skills, ({ marketplace }) => marketplace)).map(([marketplace, all]) => [
          marketplace,
          all!.map(({ name }) => name),
        ]),
      ),
      errors: problems,
    }
  }

  /** The plugin that is meant by `name` or `name@marketplace`, also of marketplaces that only a conversation knows. */
  async find(reference: string, more: readonly MarketplaceRegistration[], destination: Destination): Promise<Source> {
    const { registered } = this.#parts
    const [, name = reference, marketplace] = /^(.+)@([^@]+)$/.exec(reference) ?? []
    const names = [...registered, ...more].map(one => one.name)
    if (names.length === 0)
      throw fault('bad_request', `There is no plugin '${name}' installed, and no marketplace registered`)
    if (marketplace !== undefined && !names.includes(marketplace))
      throw fault('bad_request', `There is no marketplace '${marketplace}' registered`)
    const isAsked = (one: string) => marketplace === undefined || one === marketplace
    const lists = [
      await this.#registered(),
      await this.#read(
        more.filter(one => isAsked(one.name)),
        destination,
      ),
    ]
    const found = lists
      .flatMap(({ offers }) => offers)
      .filter(offer => offer.kind === 'plugin' && offer.name === name && isAsked(offer.marketplace))
    const [only, ...others] = found
    if (!only)
      throw fault(
        'bad_request',
        [`No marketplace has a plugin '${name}'`, ...lists.flatMap(({ problems }) => problems)].join('; '),
      )
    if (others.length > 0)
      throw fault(
        'bad_request',
        `Several marketplaces have '${name}': say ${found.map(offer => `${name}@${offer.marketplace}`).join(' or ')}`,
      )
    return only.from
  }

  #fresh(): () => Promise<Lists> {
    return recently(MARKETPLACE_MS, () => this.#read(this.#parts.registered))
  }

  async #read(
    registrations: readonly MarketplaceRegistration[],
    destination?: Destination,
    paths: readonly string[] = PATHS,
  ): Promise<Lists> {
    const { readText, log } = this.#parts
    const lists = registrations.map(async (registration): Promise<Lists> => {
      try {
        return { offers: offersIn(registration, await readText(registration, paths, destination)), problems: [] }
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const { name } = registration
        log.warn('marketplace', { name, problem: error.message })
        return { offers: [], problems: [`${name}: ${error.message}`] }
      }
    })
    const all = await Promise.all(lists)
    return { offers: all.flatMap(({ offers }) => offers), problems: all.flatMap(({ problems }) => problems) }
  }
}

function offersIn(registration: MarketplaceRegistration, text: string | undefined): Offer[] {
  if (text === undefined) throw fault('package_invalid', `There is none of ${PATHS.join(', ')}`)
  const { metadata, plugins } = manifestIn(text)
  const root = metadata?.pluginRoot ?? ''
  const offers = plugins.map(({ name, description = null, source }): Offer => {
    const isHere = typeof source === 'string'
    const kind = isHere && !posix.join(root, source).startsWith('plugins/') ? 'skill' : 'plugin'
    const from = isHere ? below(registration, posix.join(root, source)) : elsewhere(source)
    return { kind, name, description, marketplace: registration.name, from }
  })
  return offers.filter(({ from }) => leadsSomewhere(from))
}

function leadsSomewhere(source: Source): boolean {
  try {
    return placeOf(source) !== undefined
  } catch {
    return false
  }
}

function manifestIn(text: string): z.output<typeof Manifest> {
  try {
    return Manifest.parse(JSON.parse(text))
  } catch {
    throw fault('package_invalid', 'Its list cannot be read')
  }
}

/** A path is from the top of the marketplace itself. */
const below = ({ source, ref, repo_path }: MarketplaceRegistration, path: string): Source =>
  placeOf({ source, ref, repo_path }).kind === 'folder'
    ? { source: posix.join(source, path), ref: null, repo_path: null }
    : { source, ref, repo_path: posix.join(repo_path ?? '', path) }

function elsewhere({ repo, url, ref, path }: z.output<typeof Elsewhere>): Source {
  return { source: repo === undefined ? (url ?? '') : `github:${repo}`, ref: ref ?? null, repo_path: path ?? null }
}
