import { posix } from 'node:path'
import type { TextContent } from '../api/common.ts'
import type { Skill } from '../api/skills.ts'
import { matchesGlob } from './skills/glob.ts'
import { framed } from './skills/text.ts'

/** Its whole text is in the system prompt. */
export const isAlwaysOn = (skill: Skill): boolean => skill.trigger === null && !skill.is_agentskills_format

/** The model is told that it is there, and may ask for its text by `invoke_skill`. */
export const isInvocable = (skill: Skill): boolean =>
  !isAlwaysOn(skill) && !skill.disable_model_invocation && skill.trigger?.type !== 'path'

/**
 * One skill for each name. What came with the order wins over what the project brings, and that over what the user keeps; within
 * each the first wins.
 */
export function mergeSkills(from: {
  given: readonly Skill[]
  project: readonly Skill[]
  user: readonly Skill[]
  disabled: readonly string[]
}): Skill[] {
  const merged = new Map<string, Skill>()
  for (const skill of [...from.given, ...from.project, ...from.user])
    if (!merged.has(skill.name) && !from.disabled.includes(skill.name)) merged.set(skill.name, skill)
  return [...merged.values()]
}

export interface Activation {
  /** By name, what is on from now. */
  activated: string[]
  /** What the model is told with the message or result that called them. */
  content: TextContent[]
}

/**
 * The skills a message calls, by a keyword as a whole word or as `/name`, in any case. Each is told once in a conversation: `already`
 * has the names of those that were.
 */
export function activate(skills: readonly Skill[], messageText: string, already: Iterable<string>): Activation {
  const known = new Set(already)
  const called = skills.filter(skill => !known.has(skill.name) && callsOf(skill).some(call => call.test(messageText)))
  return activation(called, 'The message calls for this skill. Follow it as far as it bears on the task.')
}

/** The rules for files that were touched, each once in a conversation. Patterns are relative to the working directory. */
export function rulesFor(
  skills: readonly Skill[],
  paths: readonly string[],
  { workingDir, already }: { workingDir: string; already: Iterable<string> },
): Activation {
  const known = new Set(already)
  const touched = paths
    .map(path => posix.relative(workingDir, posix.resolve(workingDir, path)))
    .filter(path => path !== '..' && !path.startsWith('../'))
  const called = skills.filter(
    ({ name, trigger }) =>
      trigger?.type === 'path' &&
      !known.has(name) &&
      touched.some(path => trigger.paths.some(pattern => matchesGlob(pattern, path))),
  )
  return activation(called, 'These rules hold for files that were just touched.')
}

/** The text of a skill, as the model gets it. */
export function tellSkill(skill: Skill): string {
  const text = framed('skill', { name: skill.name, ...(skill.source && { source: skill.source }) }, skill.content)
  const hasFolder = skill.is_agentskills_format && skill.source?.startsWith('/')
  return hasFolder ? `${text}\nPaths in it are relative to ${posix.dirname(skill.source!)}.` : text
}

const activation = (skills: readonly Skill[], why: string): Activation => ({
  activated: skills.map(({ name }) => name),
  content: skills.map(skill => ({ type: 'text', text: `${why}\n${tellSkill(skill)}`, cache_prompt: false })),
})

function callsOf(skill: Skill): RegExp[] {
  if (isAlwaysOn(skill)) return []
  const { trigger } = skill
  const keywords = trigger?.type === 'keyword' ? trigger.keywords : []
  const tasks = trigger?.type === 'task' ? trigger.triggers : []
  return [
    ...[skill.name, ...tasks]
      .map(name => name.replace(/^\//, '').trim())
      .filter(notEmpty)
      .map(asCommand),
    ...keywords
      .map(word => word.trim())
      .filter(notEmpty)
      .map(asWord),
  ]
}

const notEmpty = (word: string) => word !== ''
const asCommand = (name: string) => new RegExp(`(?<!\\S)/${RegExp.escape(name)}(?!\\S)`, 'iu')
const asWord = (word: string) => new RegExp(`(?<![\\p{L}\\p{N}_])${RegExp.escape(word)}(?![\\p{L}\\p{N}_])`, 'iu')
