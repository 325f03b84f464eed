import { readSkill } from '../agent/skills/read.ts'
import { oneLine, visible } from '../agent/skills/text.ts'
import { fault } from '../api/errors.ts'
import {
  type InstalledSkillResponse,
  type InstallRequest,
  PackageName,
  type SkillMarketplaceResponse,
} from '../api/installed-skills.ts'
import type { Skill } from '../api/skills.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { UserSkills } from '../settings/user-skills.ts'
import type { Marketplaces } from './marketplaces.ts'
import { deliver, type Package, rootIn, textOf } from './package.ts'
import { type Installed, type Packages, type Read, wireOf } from './packages.ts'
import { inOne } from './source.ts'

/** The skills that somebody with the key has installed. The user's sessions have those that are enabled. */
export class InstalledSkills {
  readonly #packages: Packages<Skill>
  readonly #marketplaces: Marketplaces

  constructor(packages: Packages<Skill>, marketplaces: Marketplaces) {
    this.#packages = packages
    this.#marketplaces = marketplaces
  }

  async list(): Promise<{ skills: InstalledSkillResponse[] }> {
    return { skills: (await this.#packages.all()).map(wire) }
  }

  async get(name: string): Promise<InstalledSkillResponse> {
    return wire(await this.#packages.get(name))
  }

  async install(request: InstallRequest): Promise<InstalledSkillResponse> {
    return wire(await this.#packages.install(request))
  }

  async refresh(name: string): Promise<{ message: string; skill: InstalledSkillResponse }> {
    return { message: `Skill '${name}' updated`, skill: wire(await this.#packages.refresh(name)) }
  }

  setEnabled(name: string, enabled: boolean) {
    return this.#packages.setEnabled(name, enabled)
  }

  uninstall(name: string) {
    return this.#packages.uninstall(name)
  }

  async marketplace(): Promise<SkillMarketplaceResponse> {
    const [offers, installed] = await Promise.all([this.#marketplaces.offers('skill'), this.#packages.all()])
    return {
      skills: offers.map(({ name, description, from }) => ({
        name,
        description,
        source: inOne(from),
        installed: installed.some(one => one.name === name),
      })),
    }
  }

  /** Those that are enabled. What lies beside a skill's text is put where its session can read it, if there is a session. */
  async enabled(reach?: () => Promise<Sandbox>): Promise<UserSkills> {
    const problems: string[] = []
    const skills: Skill[] = []
    for (const one of await this.#packages.enabled()) {
      const source = await this.#beside(one, reach).catch(error => {
        problems.push(oneLine(`${one.name}: its files could not be put into the sandbox: ${error}`))
        return undefined
      })
      skills.push(source ? { ...one.brings, source } : one.brings)
    }
    return { skills, problems }
  }

  async #beside(one: Installed<Skill>, reach?: () => Promise<Sandbox>): Promise<string | undefined> {
    if (!reach || one.files.length < 2) return undefined
    const sandbox = await reach()
    const root = rootIn(sandbox, 'skill', one.name, one.sha256)
    await deliver(sandbox, root, await this.#packages.files(one))
    return `${root}/${MAIN}`
  }
}

const MAIN = 'SKILL.md'

const wire = (one: Installed<Skill>): InstalledSkillResponse => wireOf('skill', one)

/** A skill from a folder with a `SKILL.md`. */
export function readInstalledSkill(found: Package, fallback: string): Read<Skill> {
  const text = textOf(found, MAIN)
  if (text === undefined) throw fault('package_invalid', `There is no skill: ${MAIN} is missing`)
  const { skill, problems } = readSkill({ path: `${fallback}/${MAIN}`, text: visible(text) }, { trusted: true })
  if (!skill) throw fault('package_invalid', problems.join('; '))
  const name = PackageName.safeParse(skill.name).data
  if (name === undefined)
    throw fault('package_invalid', `${JSON.stringify(skill.name)} cannot be its name: a-z, 0-9 and - between`)
  const brings = { ...skill, source: `installed/${name}/${MAIN}` }
  return { name, version: skill.version, description: skill.description ?? '', brings }
}
