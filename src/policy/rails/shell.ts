import { parseShell } from '../shell/parse.ts'
import { type Command, Unparsable, type Word } from '../shell/script.ts'
import { type Call, callsOf } from './call.ts'
import { fetchedBy, taintedBy } from './fetching.ts'
import { matchesGlob } from './paths.ts'
import { isShell, readsProgram, scriptsOf } from './programs.ts'
import { isWorse, type Level, type Rule, type Scene } from './rule.ts'
import { codeRules, inlineIn, literalsIn, SPAWNS, saidInto, writtenOut } from './rules-code.ts'
import { gitRules } from './rules-git.ts'
import { machineRules } from './rules-machine.ts'
import { networkRules } from './rules-network.ts'
import { publishRules } from './rules-publish.ts'
import { secretRules } from './rules-secrets.ts'

export interface Finding {
  risk: Level
  /** The rule that says so, when it is more than LOW. */
  rule?: string
  why?: string
}

const RULES: Rule[] = [...codeRules, ...machineRules, ...secretRules, ...networkRules, ...gitRules, ...publishRules]

export const unreadable: Finding = { risk: 'HIGH', rule: 'unreadable', why: 'Cannot be read as a shell command' }

/** What a program that only the shell will know could be: the worst that goes with such arguments. */
const SUSPECTS = ['rm', 'dd', 'chmod', 'shred']

/** Longer than any command people or models write; the time to judge grows with it. */
const LONGEST = 64 * 1024
/** Shell texts in shell texts. */
const DEEPEST = 8

/** The worst that any command of a shell text would do. */
export function judgeShell(text: string, dir = '', depth = 0): Finding {
  if (text.length > LONGEST || depth > DEEPEST) return unreadable
  try {
    return judge(parseShell(text), dir, depth)
  } catch (error) {
    if (error instanceof Unparsable) return unreadable
    throw error
  }
}

function judge(commands: Command[], start: string, depth: number): Finding {
  const scene = { dir: start, tainted: taintedBy(commands), fetched: fetchedBy(commands) }
  const files = filesBy(commands)
  let worst: Finding = { risk: 'LOW' }
  const consider = (finding: Finding) => {
    if (isWorse(finding.risk, worst.risk)) worst = finding
  }
  for (const command of commands) {
    for (const call of callsOf(command)) {
      for (const one of suspects(call)) consider(applied(one, scene))
      for (const script of [...scriptsOf(call).map(({ text }) => text), ...fed(call, files)])
        consider(judgeShell(script, scene.dir, depth + 1))
      for (const text of spawnedBy(call)) {
        const finding = judgeShell(text, scene.dir, depth + 1)
        if (finding !== unreadable) consider(finding)
      }
      if (/^(cd|pushd)$/.test(call.name)) scene.dir = folder(scene.dir, call.args.at(-1)?.text ?? '~')
      if (worst.risk === 'HIGH') return worst
    }
    for (const { name, value } of command.assigned)
      if (command.words[0]?.text === 'alias' || name === 'PROMPT_COMMAND')
        consider(judgeShell(value.text, scene.dir, depth + 1))
  }
  return worst
}

function applied(call: Call, scene: Scene): Finding {
  let worst: Finding = { risk: 'LOW' }
  for (const { id, why, judge } of RULES) {
    const risk = judge(call, scene)
    if (isWorse(risk, worst.risk)) worst = { risk, rule: id, why }
  }
  return worst
}

/** The call, or where the program is not known, all it might be. */
function suspects(call: Call): Call[] {
  const { program, name } = call
  if (program.glob)
    return [
      call,
      ...['rm', 'dd', 'cat', 'curl', 'nc', 'bash', 'sh', 'chmod']
        .filter(one => matchesGlob(name, one))
        .map(one => ({ ...call, name: one })),
    ]
  return program.unknown ? [call, ...SUSPECTS.map(one => ({ ...call, name: one }))] : [call]
}

/** Shell text that a shell is given to read, or that the commands before put into the file it runs. */
function fed(call: Call, files: ReadonlyMap<string, string>): string[] {
  const { name, program, args } = call
  const ran = program.text.includes('/') ? [program, ...args] : args
  if (!isShell(name)) return ran === args ? [] : fileTexts([program], files)
  const input = readsProgram(call) ? [saidInto(call) ?? ''] : []
  const substituted = args.filter(({ inner }) => inner.length > 0).map(({ text }) => text)
  return [...input, ...substituted, ...fileTexts(ran, files)]
}

const base = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const fileTexts = (words: Word[], files: ReadonlyMap<string, string>) =>
  words.flatMap(({ text }) => files.get(base(text)) ?? [])

/** By name, what commands write into files, when that can be told without running them. */
function filesBy(commands: readonly Command[]): Map<string, string> {
  const files = new Map<string, string>()
  for (const command of commands) {
    const text = writtenOut(command)
    if (text === undefined) continue
    for (const { operator, target } of command.redirects)
      if (operator.startsWith('>')) files.set(base(target.text), `${files.get(base(target.text)) ?? ''}${text}\n`)
  }
  return files
}

/** Shell text in the strings of a program in another language that starts others. */
function spawnedBy(call: Call): string[] {
  const code = isShell(call.name) ? '' : inlineIn(call)
  if (!SPAWNS.test(code)) return []
  const literals = literalsIn(code)
  const backquoted = [...code.matchAll(/`([^`]{1,2000})`|(?:qx|%x)[({/]([^)}/]{1,2000})/g)].map(
    ([, one, other]) => one ?? other ?? '',
  )
  return [...literals, ...backquoted, literals.join(' ')]
}

const folder = (dir: string, to: string): string => (/^[/~]/.test(to) || dir === '' ? to : `${dir}/${to}`)
