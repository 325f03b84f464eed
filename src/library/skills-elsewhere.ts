import { posix } from 'node:path'
import { readSkill } from '../agent/skills/read.ts'
import { oneLine, visible } from '../agent/skills/text.ts'
import { Fault, fault } from '../api/errors.ts'
import type { OrgConfig } from '../api/skill-library.ts'
import type { MarketplaceRegistration } from '../api/skills.ts'
import type { Remote } from '../git-providers/remote.ts'
import type { UserSkills } from '../settings/user-skills.ts'
import type { Destination } from './fetch.ts'
import { readInstalledSkill } from './installed-skills.ts'
import { PACKAGES_AT_ONCE } from './limits.ts'
import type { Lists, Offer } from './marketplaces.ts'
import { type Package, textOf } from './package.ts'
import { readPlugin } from './plugin.ts'
import { inOne, nameOf, placeOf, type Source } from './source.ts'

export interface SkillsElsewhereParts {
  /** By whoever set this server up. */
  registered: readonly MarketplaceRegistration[]
  list(registrations: readonly MarketplaceRegistration[], destination: Destination, path?: string): Promise<Lists>
  /** By the right of whoever asks: with a remote, by what that one brings. */
  fetch(source: Source, destination: Destination, remote?: Remote): Promise<Package>
}

/** Skills that lie neither with the user nor in a project. What cannot be had is a problem, never an error. */
export class SkillsElsewhere {
  readonly #parts: SkillsElsewhereParts

  constructor(parts: SkillsElsewhereParts) {
    this.#parts = parts
  }

  /** Of the marketplaces that this server was set up with: without a path all that they offer. */
  ofPublic(path: string | null, destination: Destination): Promise<UserSkills> {
    const registered = this.#parts.registered.map(one => (path === null ? { ...one, auto_load: true } : one))
    return this.ofMarketplaces(registered, destination, path ?? undefined)
  }

  /** Those that are to be loaded without being asked for by name. */
  async ofMarketplaces(
    registrations: readonly MarketplaceRegistration[],
    destination: Destination,
    path?: string,
  ): Promise<UserSkills> {
    const loading = registrations.filter(({ auto_load }) => auto_load === true || (auto_load && auto_load.length > 0))
    if (loading.length === 0) return { skills: [], problems: [] }
    const { offers, problems } = await this.#parts.list(loading, destination, path)
    const wanted = offers.filter(offer => isWanted(offer, loading))
    const beyond = wanted.length > PACKAGES_AT_ONCE ? [`Only ${PACKAGES_AT_ONCE} packages are loaded at once`] : []
    const found = await Promise.all(
      wanted
        .slice(0, PACKAGES_AT_ONCE)
        .map(offer =>
          attempt(offer.name, async () => skillsOf(offer, await this.#parts.fetch(offer.from, destination))),
        ),
    )
    return together([{ skills: [], problems: [...problems, ...beyond] }, ...found])
  }

  /** Of repositories of organisations, `skills` and `microagents` in them. */
  async ofOrganizations(configs: readonly OrgConfig[], destination: Destination): Promise<UserSkills> {
    const found = configs.slice(0, PACKAGES_AT_ONCE).map(config =>
      attempt(config.org_name, async () => {
        const remote = remoteOf(config)
        const source = { source: remote.url, ref: null, repo_path: null }
        return organizationSkills(await this.#parts.fetch(source, destination, remote), config.org_name)
      }),
    )
    return together(await Promise.all(found))
  }
}

const isWanted = ({ name, marketplace }: Offer, registrations: readonly MarketplaceRegistration[]): boolean =>
  registrations.some(
    one => one.name === marketplace && (Array.isArray(one.auto_load) ? one.auto_load.includes(name) : one.auto_load),
  )

/** They lie in no sandbox: where they come from is their source. */
function skillsOf({ kind, from }: Offer, found: Package): UserSkills {
  const name = nameOf(placeOf(from))
  const skills = kind === 'skill' ? [readInstalledSkill(found, name).brings] : readPlugin(found, name).brings.skills
  return { skills: skills.map(skill => ({ ...skill, source: inOne(from) })), problems: [] }
}

/** The credential in an address goes where credentials go: not into an argument, and not into the repository. */
function remoteOf({ org_repo_url, repository }: OrgConfig): Remote {
  const url = URL.parse(org_repo_url)
  if (!url) throw unreadable()
  const [username, password] = [decoded(url.username), decoded(url.password)]
  url.username = ''
  url.password = ''
  const credential = {
    username: password ? username : 'git',
    token: password || username,
    variable: 'ORGANIZATION_TOKEN',
  }
  return { provider: 'github', repository, url: url.href, credential: credential.token ? credential : null }
}

/** git is told it in lines. */
function decoded(text: string): string {
  try {
    const said = decodeURIComponent(text)
    if (!/[\r\n\0]/.test(said)) return said
  } catch {}
  throw unreadable()
}

const unreadable = () => fault('package_not_fetched', 'Its address cannot be read')

const SKILLS = /^(?:skills|microagents)\/(?:[^/]+\.md|[^/]+\/SKILL\.md)$/i

function organizationSkills(found: Package, organization: string): UserSkills {
  const paths = found.files.map(({ path }) => path).filter(path => SKILLS.test(path))
  const read = paths
    .filter(path => posix.basename(path).toLowerCase() !== 'readme.md')
    .map(path =>
      readSkill({ path: posix.join(organization, path), text: visible(textOf(found, path)!) }, { trusted: false }),
    )
  return {
    skills: read.flatMap(({ skill }) => skill ?? []),
    problems: read.flatMap(({ problems }) => problems),
  }
}

async function attempt(name: string, load: () => Promise<UserSkills>): Promise<UserSkills> {
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { skills: [], problems: [oneLine(`${name}: ${error.message}`)] }
  }
}

const together = (all: readonly UserSkills[]): UserSkills => ({
  skills: all.flatMap(({ skills }) => skills),
  problems: all.flatMap(({ problems }) => problems),
})
