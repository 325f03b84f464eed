import { posix } from 'node:path'
import { Skill } from '../../api/skills.ts'
import { run } from '../../sandbox/run.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { type ReadSkill, readSkill, type SkillFile } from './read.ts'
import { oneLine, visible } from './text.ts'
import { isTrusted, type Trust, trustNeeded } from './trust.ts'

/** What one project may bring. A model reads all that is always on, and a server keeps it for every conversation. */
const FILES = 100
const FILE_BYTES = 64 * 1024
const TOTAL_BYTES = 1024 * 1024
/** For the whole search. Conversations wait for it when they start. */
const PATIENCE_MS = 10_000
const PROBLEMS = 50

/** By file at the root of a project, the skill it is. All of its text is always before the model. */
const ALWAYS: Readonly<Record<string, string>> = {
  'AGENTS.md': 'agents',
  'CLAUDE.md': 'claude',
  'GEMINI.md': 'gemini',
  '.cursorrules': 'cursorrules',
}

/**
 * folder → for each file `f`, its path, NUL, its text, NUL; `o` instead for one that a link leads out of the folder to, judged on what was
 * opened; `m` when there are more. What matters most comes first, should it be cut short.
 */
const SCRIPT = `
export LC_ALL=C; exec 2>/dev/null
cd -P -- "$1" || exit 1
root=$(pwd -P; echo x); root=\${root%?x}; root=\${root%/}
show() {
  [ -f "$1" ] && [ -r "$1" ] || return 1
  {
    case $(readlink /proc/self/fd/5) in
      "$root"/*) printf 'f%s\\0' "$1"; head -c ${FILE_BYTES + 1} <&5 | tr -d '\\000'; printf '\\0' ;;
      *) printf 'o%s\\0\\0' "$1" ;;
    esac
  } 5<"$1"
}
for name in ${Object.keys(ALWAYS).join(' ')}; do show "$name"; done
{
  printf '%s\\n' .agents/skills/*/SKILL.md
  find -H .openhands/skills -maxdepth 5 -name SKILL.md | sort
  printf '%s\\n' .claude/skills/*/SKILL.md
  find -H .openhands/skills .openhands/microagents -maxdepth 5 -name '*.md' ! -name SKILL.md ! -iname README.md | sort
} | {
  left=${FILES}
  while IFS= read -r path; do
    [ $left -gt 0 ] || { printf 'm\\0\\0'; break; }
    if show "$path"; then left=$((left - 1)); fi
  done
}
`

export interface ProjectSkills {
  skills: Skill[]
  /** What was not taken, or not as it is written. */
  problems: string[]
  /** What waits for somebody's yes. */
  untrusted: (Trust & { source: string })[]
}

/**
 * The skills a project brings, read inside its sandbox by one command. They are words for the model: whatever would reach further is
 * left out, unless the file's hash is among those approved. Never rejects for anything the project holds.
 */
export async function loadProjectSkills(
  sandbox: Sandbox,
  workingDir: string,
  signal: AbortSignal,
  approved: ReadonlySet<string> = new Set(),
): Promise<ProjectSkills> {
  const argv = ['/bin/sh', '-c', SCRIPT, 'skills', workingDir] as const
  const command = { argv, cwd: '/', timeoutMs: PATIENCE_MS, signal, label: 'reading skills' }
  const { stdout, overflow, reason } = await run(sandbox, command, { limit: TOTAL_BYTES })
  signal.throwIfAborted()
  const found = filesIn(stdout)
  const problems = [...found.problems]
  if (overflow) problems.push(`The project's skills come to more than ${TOTAL_BYTES} bytes: the rest is left out`)
  if (reason === 'timeout') problems.push('Reading the skills of the project took too long: the rest is left out')

  const packages = found.files.map(file => file.path).filter(path => path.endsWith('/SKILL.md'))
  const folders = packages.map(path => path.slice(0, -'SKILL.md'.length))
  const skills = new Map<string, Skill>()
  const untrusted: ProjectSkills['untrusted'] = []
  for (const file of found.files) {
    // What lies beside a SKILL.md belongs to that skill, which says when to read it.
    if (!packages.includes(file.path) && folders.some(folder => file.path.startsWith(folder))) continue
    const source = posix.join(workingDir, file.path)
    const trust = ALWAYS[file.path] === undefined ? trustNeeded('skill', file.text) : undefined
    const trusted = trust !== undefined && isTrusted(trust.hash, approved)
    if (trust && !trusted) untrusted.push({ ...trust, source })
    const read = skillOf({ path: source, text: file.text }, ALWAYS[file.path], trusted)
    problems.push(...read.problems)
    if (!read.skill) continue
    const known = skills.get(read.skill.name)
    if (!known) skills.set(read.skill.name, read.skill)
    else if (known.content !== read.skill.content)
      problems.push(oneLine(`${source}: there is another skill named ${known.name}, which is taken: ${known.source}`))
  }
  return { skills: oneOfEach([...skills.values()]), problems: problems.slice(0, PROBLEMS), untrusted }
}

function skillOf(file: SkillFile, always: string | undefined, trusted: boolean): ReadSkill {
  if (always === undefined) return readSkill(file, { trusted })
  return { skill: Skill.parse({ name: always, content: file.text, source: file.path }), problems: [] }
}

/** One file is often a link to another, or a copy for another program. */
function oneOfEach(skills: Skill[]): Skill[] {
  const always = new Set<string>()
  return skills.filter(({ trigger, is_agentskills_format, content }) => {
    if (trigger !== null || is_agentskills_format) return true
    if (content.trim() === '' || always.has(content)) return false
    always.add(content)
    return true
  })
}

function filesIn(output: Buffer): { files: SkillFile[]; problems: string[] } {
  const files: SkillFile[] = []
  const problems: string[] = []
  const decoder = new TextDecoder()
  // The script ends each with a NUL: what follows the last was cut off.
  for (let start = 0; ; ) {
    const middle = output.indexOf(0, start)
    const end = middle < 0 ? -1 : output.indexOf(0, middle + 1)
    if (end < 0) break
    const path = decoder.decode(output.subarray(start + 1, middle))
    const bytes = output.subarray(middle + 1, end)
    const kind = String.fromCharCode(output[start]!)
    if (kind === 'm') problems.push(`The project has more than ${FILES} skills: the rest is left out`)
    else if (kind === 'o') problems.push(oneLine(`${path}: it leads out of the project`))
    else {
      if (bytes.length > FILE_BYTES) problems.push(oneLine(`${path}: only the first ${FILE_BYTES} bytes are read`))
      files.push({ path, text: visible(decoder.decode(bytes.subarray(0, FILE_BYTES))) })
    }
    start = end + 1
  }
  return { files, problems }
}
