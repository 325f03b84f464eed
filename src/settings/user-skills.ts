import { open, readdir } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { readSkill } from '../agent/skills/read.ts'
import { oneLine, visible } from '../agent/skills/text.ts'
import type { Skill } from '../api/skills.ts'

/** As for a project: a model reads all that is always on, and a server keeps it for every conversation. */
const FILES = 100
const FILE_BYTES = 64 * 1024

export interface UserSkills {
  skills: Skill[]
  /** What was not taken, or not as it is written. */
  problems: string[]
}

/**
 * The skills that the user keeps for all conversations: of a folder every `NAME.md` and every `NAME/SKILL.md`. No sandbox can write
 * there, so that they are trusted; and none can read there, so that their source is told by name, not by a path.
 */
export async function readUserSkills(folder: string): Promise<UserSkills> {
  const paths = await pathsIn(folder)
  const problems = paths.length > FILES ? [`There are more than ${FILES} skills of the user: the rest is left out`] : []
  const skills = new Map<string, Skill>()
  for (const path of paths.slice(0, FILES)) {
    const bytes = await beginningOf(join(folder, path)).catch(() => undefined)
    if (!bytes) continue
    const source = posix.join('user', path)
    if (bytes.length > FILE_BYTES) problems.push(oneLine(`${source}: only the first ${FILE_BYTES} bytes are read`))
    const text = visible(bytes.toString('utf8', 0, FILE_BYTES))
    const found = readSkill({ path: source, text }, { trusted: true })
    problems.push(...found.problems)
    if (!found.skill) continue
    const { name } = found.skill
    const known = skills.get(name)
    if (known)
      problems.push(oneLine(`${source}: there is another skill named ${name}, which is taken: ${known.source}`))
    else skills.set(name, found.skill)
  }
  return { skills: [...skills.values()], problems }
}

/** By name; packages that have no SKILL.md are found out when it is opened. */
async function pathsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const shown = names.filter(name => !name.startsWith('.') && name.toLowerCase() !== 'readme.md').sort()
  return shown.map(name => (name.endsWith('.md') ? name : `${name}/SKILL.md`))
}

/** One byte more than is taken, so that the rest is noticed. */
async function beginningOf(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(FILE_BYTES + 1) })
  return buffer.subarray(0, bytesRead)
}
