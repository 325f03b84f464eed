import { posix } from 'node:path'
import * as z from 'zod'
import { Skill, type Trigger } from '../../api/skills.ts'
import { type Field, type Fields, readFrontmatter, Unreadable } from './frontmatter.ts'
import { oneLine } from './text.ts'
import { guardedIn } from './trust.ts'

export interface SkillFile {
  path: string
  text: string
}

export interface ReadSkill {
  skill: Skill | undefined
  /** What was not taken as it is written, for a person. */
  problems: string[]
}

/** Words or patterns that call one skill, and how long one may be. */
const TRIGGERS = 50
const TRIGGER_LENGTH = 200

/** Names stand in prompts, lists and commands. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_ .:/-]{0,63}$/u

/**
 * A skill from a Markdown file: a `SKILL.md`, named after its folder, or any other, named after itself. With `trusted`, what
 * reaches beyond words for the model is taken too, as far as a skill has a place for it; without, it is left out and reported.
 */
export function readSkill({ path, text }: SkillFile, { trusted }: { trusted: boolean }): ReadSkill {
  const problems: string[] = []
  const problem = (what: string) => void problems.push(oneLine(`${path}: ${what}`))
  try {
    const { fields: written, body } = readFrontmatter(text)
    const fields: Fields = Object.fromEntries(
      Object.entries(written).map(([name, value]) => [name.replaceAll('-', '_'), value]),
    )
    if (!trusted)
      for (const [name] of guardedIn(fields)) {
        problem(`${name} is left out: a workspace may not set it without approval`)
        delete fields[name]
      }
    const isPackage = posix.basename(path).toLowerCase() === 'skill.md'
    const fallback = isPackage ? posix.basename(posix.dirname(path)) : posix.basename(path).replace(/\.[^.]+$/, '')
    const name = textOf(fields, 'name') ?? fallback
    if (!NAME.test(name)) throw new Unreadable(`${JSON.stringify(name)} cannot be the name of a skill`)
    const parsed = Skill.safeParse({
      name,
      content: body,
      trigger: triggerOf(fields, name),
      source: path,
      mcp_tools: fields.mcp_tools ?? null,
      inputs: fields.inputs || [],
      is_agentskills_format: isPackage,
      version: textOf(fields, 'version'),
      description: textOf(fields, 'description') ?? null,
      license: textOf(fields, 'license') ?? null,
      compatibility: textOf(fields, 'compatibility') ?? null,
      metadata: fields.metadata || null,
      allowed_tools: fields.allowed_tools === undefined ? null : listOf(fields, 'allowed_tools'),
      disable_model_invocation: textOf(fields, 'disable_model_invocation')?.toLowerCase() === 'true',
    })
    if (!parsed.success) throw new Unreadable(z.prettifyError(parsed.error))
    return { skill: parsed.data, problems }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    problem(error.message)
    return { skill: undefined, problems }
  }
}

function triggerOf(fields: Fields, name: string): Trigger | null {
  const paths = bounded(listOf(fields, 'paths'))
  if (paths.length > 0) return { type: 'path', paths }
  const words = bounded(listOf(fields, 'triggers'))
  const asksForInputs = Array.isArray(fields.inputs) && fields.inputs.length > 0
  if (asksForInputs || (words.length > 0 && words.every(word => word.startsWith('/'))))
    return { type: 'task', triggers: words.length > 0 ? words : [`/${name}`] }
  return words.length > 0 ? { type: 'keyword', keywords: words } : null
}

function bounded(words: string[]): string[] {
  if (words.length > TRIGGERS) throw new Unreadable(`There are more than ${TRIGGERS} triggers`)
  if (words.some(word => word.length > TRIGGER_LENGTH)) throw new Unreadable('A trigger is too long')
  return words.filter(word => word !== '')
}

function textOf(fields: Fields, name: string): string | undefined {
  const value: Field = fields[name] ?? ''
  if (typeof value !== 'string') throw new Unreadable(`${name} must be text`)
  return value === '' ? undefined : value
}

/** A list, or as people also write it: one text with commas between. */
function listOf(fields: Fields, name: string): string[] {
  const value: Field = fields[name] ?? ''
  const items = typeof value === 'string' ? value.split(',').map(item => item.trim()) : value
  if (!Array.isArray(items) || items.some(item => typeof item !== 'string'))
    throw new Unreadable(`${name} must be a list of texts`)
  return (items as string[]).filter(item => item !== '')
}
