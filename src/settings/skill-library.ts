import { posix } from 'node:path'
import { loadProjectHooks } from '../agent/hooks/project.ts'
import { loadProjectSkills } from '../agent/skills/project.ts'
import { isAlwaysOn, mergeSkills } from '../agent/skills.ts'
import { Fault } from '../api/errors.ts'
import type { HookConfig } from '../api/hooks.ts'
import type { ListedSkill, ListedSkillPage, SkillInfo, SkillsRequest, SkillsResponse } from '../api/skill-library.ts'
import type { Skill } from '../api/skills.ts'
import type { Log } from '../lib/log.ts'
import { Files } from '../sandbox/files.ts'
import type { Reach, Sandbox } from '../sandbox/sandbox.ts'
import type { UserSkills } from './user-skills.ts'

export interface SkillLibraryParts {
  reach: Reach
  userSkills(): Promise<UserSkills>
  /** Hashes of files of projects that a person has approved. */
  approved(): Promise<ReadonlySet<string>>
  log: Log
}

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

  async load({ load_user, load_project, project_dir }: SkillsRequest, scope?: string): Promise<SkillsResponse> {
    const [project, user] = await Promise.all([
      load_project ? this.#projectSkills(project_dir, scope) : [],
      load_user ? this.#userSkills() : [],
    ])
    return {
      skills: mergeSkills({ given: [], project, user, disabled: [] }).map(infoOf),
      sources: { sandbox: 0, registered_marketplaces: 0, sdk_base: user.length, org: 0, project: project.length },
    }
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

  async #userSkills(): Promise<Skill[]> {
    const { skills, problems } = await this.#parts.userSkills()
    for (const problem of problems) this.#parts.log.info('skills', { problem })
    return skills
  }

  async #projectSkills(projectDir: string | null, scope: string | undefined): Promise<Skill[]> {
    const folder = await this.#folder(projectDir, scope)
    if (!folder) return []
    const approved = await this.#parts.approved()
    const { skills, problems } = await loadProjectSkills(folder.sandbox, folder.path, this.#signal, approved)
    for (const problem of problems) this.#parts.log.info('skills', { problem })
    return skills
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
