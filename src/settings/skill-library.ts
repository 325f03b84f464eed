import { posix } from 'node:path'
import { loadProjectHooks } from '../agent/hooks/project.ts'
import { loadProjectSkills } from '../agent/skills/project.ts'
import { isAlwaysOn, mergeSkills } from '../agent/skills.ts'
import { Fault } from '../api/errors.ts'
import type { HookConfig } from '../api/hooks.ts'
import type { ExposedUrl } from '../api/sandboxes.ts'
import type { ListedSkill, ListedSkillPage, SkillInfo, SkillsRequest, SkillsResponse } from '../api/skill-library.ts'
import { Skill } from '../api/skills.ts'
import type { Log } from '../lib/log.ts'
import type { SkillsElsewhere } from '../library/skills-elsewhere.ts'
import { Files } from '../sandbox/files.ts'
import type { Reach, Sandbox } from '../sandbox/sandbox.ts'
import type { UserSkills } from './user-skills.ts'

export interface SkillLibraryParts {
  reach: Reach
  userSkills(): Promise<UserSkills>
  elsewhere: SkillsElsewhere
  /** Hashes of files of projects that a person has approved. */
  approved(): Promise<ReadonlySet<string>>
  log: Log
}

type NearRequest = Pick<SkillsRequest, 'load_user' | 'load_project' | 'project_dir'>

interface Folder {
  sandbox: Sandbox
  path: string
}

/** What agents could be taught, before there is a conversation. */
export class SkillLibrary {
  readonly #parts: SkillLibraryParts
  /** Reading a folder takes ten seconds at most, whether or not anybody still waits for it. */
  readonly #signal = new AbortController().signal

  constructor(parts: SkillLibraryParts) {
    this.#parts = parts
  }

  /** Of those with one name the first is taken: a project's before an organisation's before the user's before anybody's. */
  async load(request: SkillsRequest, scope?: string): Promise<SkillsResponse> {
    const { elsewhere } = this.#parts
    const { marketplace_path, registered_marketplaces, org_configs, org_config, sandbox_config } = request
    const organizations = [...(org_configs ?? []), ...(org_config ? [org_config] : [])]
    const destination = { sandbox: scope }
    const [{ project, user }, org, shared, registered] = await Promise.all([
      this.near(request, scope),
      request.load_org ? this.#taken(elsewhere.ofOrganizations(organizations, destination)) : [],
      request.load_public ? this.#taken(elsewhere.ofPublic(marketplace_path, destination)) : [],
      this.#taken(elsewhere.ofMarketplaces(registered_marketplaces, destination)),
    ])
    const sandbox = hostsSkill(sandbox_config?.exposed_urls ?? [])
    const others = [...user, ...shared, ...registered, ...sandbox]
    return {
      skills: mergeSkills({ given: [], project: [...project, ...org], user: others, disabled: [] }).map(infoOf),
      sources: {
        sandbox: sandbox.length,
        registered_marketplaces: registered.length,
        sdk_base: user.length + shared.length,
        org: org.length,
        project: project.length,
      },
    }
  }

  /** Those of a project and of the user: nothing is fetched. */
  async near({ load_user, load_project, project_dir }: NearRequest, scope?: string) {
    const [project, user] = await Promise.all([
      load_project ? this.#projectSkills(project_dir, scope) : [],
      load_user ? this.#userSkills() : [],
    ])
    return { project, user }
  }

  async hooks(projectDir: string | null, scope?: string): Promise<HookConfig | null> {
    const folder = await this.#folder(projectDir, scope)
    if (!folder) return null
    const approved = await this.#parts.approved()
    const { hooks, untrusted } = await loadProjectHooks(folder.sandbox, folder.path, this.#signal, approved)
    if (untrusted)
      this.#parts.log.info('hooks', {
        problem: `The hooks of ${folder.path} wait for an approval of ${untrusted.hash}`,
      })
    return hooks
  }

  /** The id of a page is the last name of the one before. */
  async search({ page_id, limit }: { page_id: string | null; limit: number }): Promise<ListedSkillPage> {
    const all = (await this.#userSkills()).map(listed).sort((a, b) => (a.name < b.name ? -1 : 1))
    const left = all.filter(({ name }) => page_id === null || name > page_id)
    const items = left.slice(0, limit)
    return { items, next_page_id: left.length > limit ? items.at(-1)!.name : null }
  }

  #userSkills(): Promise<Skill[]> {
    return this.#taken(this.#parts.userSkills())
  }

  async #taken(found: Promise<UserSkills>): Promise<Skill[]> {
    const { skills, problems } = await found
    for (const problem of problems) this.#parts.log.info('skills', { problem })
    return skills
  }

  async #projectSkills(projectDir: string | null, scope: string | undefined): Promise<Skill[]> {
    const folder = await this.#folder(projectDir, scope)
    if (!folder) return []
    const approved = await this.#parts.approved()
    return this.#taken(loadProjectSkills(folder.sandbox, folder.path, this.#signal, approved))
  }

  /** Undefined where there is none. */
  async #folder(projectDir: string | null, scope: string | undefined): Promise<Folder | undefined> {
    if (projectDir === null) return undefined
    const sandbox = await this.#parts.reach(scope)
    const path = posix.resolve(sandbox.workingDir, projectDir)
    try {
      return (await new Files(sandbox).stat(path)).kind === 'directory' ? { sandbox, path } : undefined
    } catch (error) {
      if (error instanceof Fault && error.code === 'file_not_found') return undefined
      throw error
    }
  }
}

/** What of a sandbox a person opens in a browser, as others name it. */
const WORKER = /^WORKER_/

/** The addresses at which a person sees what runs in the sandbox, for an agent to tell; none where there is none. */
function hostsSkill(urls: readonly ExposedUrl[]): Skill[] {
  const lines = urls.filter(({ name }) => WORKER.test(name)).map(({ url, port }) => `- port ${port}: ${url}`)
  const content = `What listens on one of these ports of the sandbox, the user sees at the address beside it:\n${lines.join('\n')}`
  return lines.length > 0 ? [Skill.parse({ name: 'work_hosts', content })] : []
}

const kindOf = (skill: Skill): SkillInfo['type'] =>
  skill.is_agentskills_format ? 'agentskills' : isAlwaysOn(skill) ? 'repo' : 'knowledge'

function triggersOf({ trigger }: Skill): string[] {
  if (trigger?.type === 'keyword') return trigger.keywords
  return trigger?.type === 'task' ? trigger.triggers : []
}

export const infoOf = (skill: Skill): SkillInfo => ({
  name: skill.name,
  type: kindOf(skill),
  content: skill.content,
  triggers: triggersOf(skill),
  source: skill.source,
  description: skill.description,
  is_agentskills_format: skill.is_agentskills_format,
  disable_model_invocation: skill.disable_model_invocation,
})

const listed = (skill: Skill): ListedSkill => ({
  name: skill.name,
  type: skill.trigger?.type === 'task' ? 'task' : kindOf(skill),
  source: 'user',
  triggers: triggersOf(skill),
})
