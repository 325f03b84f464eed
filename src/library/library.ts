import { join } from 'node:path'
import type { Kit } from '../agent/kit.ts'
import { Fault, fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import type { MarketplaceRegistration, Skill } from '../api/skills.ts'
import type { Remote } from '../git-providers/remote.ts'
import type { Log } from '../lib/log.ts'
import { Files } from '../sandbox/files.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { readUserSkills, type UserSkills } from '../settings/user-skills.ts'
import type { Store } from '../store/store.ts'
import { type Destination, type Errand, visit } from './fetch.ts'
import { InstalledSkills, readInstalledSkill } from './installed-skills.ts'
import { MARKETPLACE_BYTES } from './limits.ts'
import { Marketplaces } from './marketplaces.ts'
import { readPackage } from './package.ts'
import { Packages } from './packages.ts'
import { readPlugin } from './plugin.ts'
import { Plugins } from './plugins.ts'
import { SkillsElsewhere } from './skills-elsewhere.ts'
import { placeOf, type Source } from './source.ts'
import { SubAgents } from './sub-agents.ts'

export interface LibraryParts {
  store: Store
  /** The data folder: the user's own skills and sub-agents lie there. */
  data: string
  marketplaces: readonly MarketplaceRegistration[]
  reach(sandbox?: string): Promise<Sandbox>
  /** Where a repository is fetched from, and what is stored to open it. */
  remoteOf(repository: string, provider: ProviderType | null): Promise<Remote>
  log: Log
}

/** Everything that agents are taught and given from elsewhere, wired. */
export function openLibrary({ store, data, marketplaces: registered, reach, remoteOf, log }: LibraryParts) {
  const closing = new AbortController()
  const { signal } = closing
  const errandOf = async ({ sandbox, egress }: Destination, by: Pick<Errand, 'remoteOf'> = {}): Promise<Errand> => ({
    sandbox: await reach(sandbox),
    signal,
    egress: egress ?? undefined,
    ...by,
  })
  const bring = async (source: Source, errand: Errand) =>
    visit(errand, placeOf(source), ground => readPackage(errand.sandbox, ground, signal))
  // What needs no key is fetched without what is stored.
  const fetch = async (source: Source, destination: Destination, remote?: Remote) =>
    bring(source, await errandOf(destination, remote && { remoteOf: async () => remote }))
  const readText = async (source: Source, paths: readonly string[], destination?: Destination) => {
    const errand = await errandOf(destination ?? {}, destination ? {} : { remoteOf })
    return visit(errand, placeOf(source), ({ top, folder }) =>
      firstOf(
        new Files(errand.sandbox),
        paths.map(path => join(top, folder, path)),
      ),
    )
  }
  const trusted = { store, fetch: async (source: Source) => bring(source, await errandOf({}, { remoteOf })) }
  const marketplaces = new Marketplaces({ registered, readText, log })
  const skills = new Packages<Skill>({ ...trusted, kind: 'skill', read: readInstalledSkill })
  const packages = new Packages<Kit>({ ...trusted, kind: 'plugin', read: readPlugin })
  const installedSkills = new InstalledSkills(skills, marketplaces)
  return {
    marketplaces,
    installedSkills,
    plugins: new Plugins({ packages, marketplaces, reach, fetch, log, signal }),
    elsewhere: new SkillsElsewhere({
      registered,
      list: (registrations, destination, path) => marketplaces.list(registrations, destination, path),
      fetch,
    }),
    subAgents: new SubAgents({ folder: join(data, 'agents'), reach, log }),
    /** Those of the user's folder and those that are installed; of two with one name the former. */
    userSkills: async (inSession?: () => Promise<Sandbox>): Promise<UserSkills> => {
      const [own, installed] = await Promise.all([
        readUserSkills(join(data, 'skills')),
        installedSkills.enabled(inSession),
      ])
      const more = installed.skills.filter(({ name }) => !own.skills.some(one => one.name === name))
      return { skills: [...own.skills, ...more], problems: [...own.problems, ...installed.problems] }
    },
    /** Ends what is being fetched. */
    close: () => closing.abort(fault('shutting_down')),
  }
}
export type Library = ReturnType<typeof openLibrary>

async function firstOf(files: Files, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths)
    try {
      return (await files.read(path, MARKETPLACE_BYTES)).toString()
    } catch (error) {
      if (!(error instanceof Fault && ['file_not_found', 'not_a_file'].includes(error.code))) throw error
    }
  return undefined
}
