import { echoed } from '../shell/expand.ts'
import type { Command, Word } from '../shell/script.ts'
import type { Call } from './call.ts'
import { isConcealed } from './fetching.ts'
import { secrecy, spelled } from './paths.ts'
import { codeOf, isInterpreter, readsProgram, scriptsOf } from './programs.ts'
import type { Level, Rule, Scene } from './rule.ts'

const concealed = ({ inner, variables }: Word, { tainted }: Scene): boolean =>
  isConcealed(inner) || variables.some(name => tainted.has(name))

/** Programs whose output is meant for `eval`. */
const SET_UP =
  /^(ssh-agent|brew|direnv|pyenv|rbenv|nodenv|fnm|conda|mamba|dircolors|opam|starship|zoxide|mise|asdf|keychain|minikube|docker-machine|gpg-agent)$/

const isSetUp = (inner: Command[]) => inner.length > 0 && inner.every(({ words }) => SET_UP.test(words[0]?.text ?? ''))

/** Words whose text an interpreter takes as its program, other than from its input. */
const programs = (call: Call): Word[] => [
  ...scriptsOf(call),
  ...codeOf(call),
  ...(isInterpreter(call.name) ? call.args.filter(({ inner }) => inner.length > 0) : []),
]

const runsConcealed: Rule = {
  id: 'unseen-code',
  why: 'Runs code that was fetched or decoded on the spot, so that nobody has seen it',
  judge(call, scene) {
    const { command, program } = call
    if (concealed(program, scene) || programs(call).some(word => concealed(word, scene))) return 'HIGH'
    if (program.unknown && program.text === '' && isConcealed(command.upstream)) return 'HIGH'
    if (!readsProgram(call)) return 'LOW'
    const inputs = command.redirects.filter(({ operator }) => operator.startsWith('<'))
    if (isConcealed(command.upstream) || inputs.some(({ target }) => concealed(target, scene))) return 'HIGH'
    return command.upstream.length > 0 && !saidInto(call) ? 'MEDIUM' : 'LOW'
  },
}

const runsFetched: Rule = {
  id: 'fetched-program',
  why: 'Fetches a program and runs it',
  judge({ name, program, args, command }, { fetched }) {
    const isFetched = ({ text }: Word) => fetched.has(text.slice(text.lastIndexOf('/') + 1))
    if (program.text.includes('/') && isFetched(program)) return 'HIGH'
    const runs = isInterpreter(name)
    const inputs = command.redirects.filter(({ operator }) => operator === '<').map(({ target }) => target)
    return runs && [...args, ...inputs].some(isFetched) ? 'HIGH' : 'LOW'
  },
}

const unknownProgram: Rule = {
  id: 'unknown-program',
  why: 'Which program runs is decided only while it runs',
  judge(call) {
    const unknown = ({ text, unknown: open, inner }: Word) => open && text.trim() === '' && !isSetUp(inner)
    if (call.program.unknown && !isSetUp(call.program.inner)) return 'MEDIUM'
    if (call.program.glob && !/^\[\[?$/.test(call.program.text)) return 'MEDIUM'
    return programs(call).some(unknown) ? 'MEDIUM' : 'LOW'
  },
}

export const SPAWNS =
  /system\s*\(|popen|subprocess|child_process|exec\w*\s*[('"]|spawn|shell_exec|passthru|\bqx\b|`|pty\.|%x|os\.execute|do shell script/i
const DELETES = /rmtree|rmSync|rm_rf|rmdir|unlink|remove_tree|remove_dir|fs\.rm\b|rimraf|os\.remove/i
const SENDS =
  /requests\.(post|put)|urlopen\([^)]*data|\bsocket\b|net\.(connect|Socket)|TCPSocket|method\s*:\s*['"](POST|PUT)|smtplib|ftplib|http\.client|IO::Socket|fsockopen/i
const READS = /open\s*\(|readFile|read_text|File\.read|file_get_contents|environ|process\.env|ENV\b/i
const DECODES =
  /(exec|eval)\s*\(.*(b64decode|base64|fromhex|unhexlify|atob|Buffer\.from|decode\(|decompress|urlopen|requests\.get)|eval\s*\(?\s*(pack|unpack|MIME)/is
const FORKS = /(while|until|for|loop).*\bfork\b|\bfork\b.*\bfork\b|\bfork\s+while/is
const DUMPS = /os\.environ\s*(\)|$|\.items|\.copy|\.values)|\(\s*process\.env\s*[),]|%ENV|ENV\.to_h/m
const LITERAL = /(['"])((?:\\.|(?!\1)[^\\\n]){1,2000})\1/g

export const literalsIn = (code: string): string[] =>
  [...code.matchAll(LITERAL)].map(([, , text = '']) => text.replace(/\\(.)/g, '$1'))

/** What short programs in other languages do, told by the words they use. */
const inlineCode: Rule = {
  id: 'inline-code',
  why: 'Runs a program of its own that starts others, deletes, sends data or reads credentials',
  judge: call => (runsBySed(call) ? 'HIGH' : codeLevel(inlineIn(call))),
}

/** GNU sed runs the text after `e`, and with the flag `e` what it has put together. */
const runsBySed = ({ name, args }: Call): boolean =>
  name === 'sed' && args.some(({ text }) => /^(\d+|\$)?\s*e\s+\S|^s([/|#,]).*\2.*\2[gpiI\d]*e[gpiI\d]*$/.test(text))

/** All code in other languages that a call runs and that is written out. */
export const inlineIn = (call: Call): string =>
  [...codeOf(call).map(({ text }) => text), ...(readsProgram(call) ? inputText(call.command) : [])].join('\n')

export function codeLevel(code: string): Level {
  if (code === '') return 'LOW'
  const literals = literalsIn(code)
  if (DECODES.test(code) || FORKS.test(code)) return 'HIGH'
  if (SENDS.test(code) && (READS.test(code) || SPAWNS.test(code) || /dup2/.test(code))) return 'HIGH'
  if (literals.some(text => secrecy(spelled(text)) === 'HIGH')) return 'HIGH'
  if (DELETES.test(code) && literals.some(text => /^([/~*]|\.\.?\/?$)/.test(text) && !text.startsWith('/tmp/')))
    return 'HIGH'
  return SPAWNS.test(code) || DELETES.test(code) || SENDS.test(code) || DUMPS.test(code) ? 'MEDIUM' : 'LOW'
}

const forkBomb: Rule = {
  id: 'fork-bomb',
  why: 'Starts itself again and again until nothing else can run',
  judge: ({ program, command }) => (command.detached && command.within.includes(program.text) ? 'HIGH' : 'LOW'),
}

/** What is written out in here-documents and here-strings of a command. */
const inputText = ({ redirects }: Command): string[] =>
  redirects.flatMap(({ operator, target, body }) => (body ? [body.text] : operator === '<<<' ? [target.text] : []))

/** The program that a call is fed, when it is written out; undefined when it is not. */
export function saidInto(call: Call): string | undefined {
  const direct = inputText(call.command)
  if (direct.length > 0) return direct.join('\n')
  const said = call.command.upstream.map(writtenOut)
  return said.length > 0 && said.every(text => text !== undefined) ? said.join('\n') : undefined
}

/** What a command writes, when that can be told without running it. */
export function writtenOut(command: Command): string | undefined {
  const { words } = command
  return words[0]?.text === 'cat' && words.length === 1 ? inputText(command).join('\n') || undefined : echoed(words)
}

export const codeRules: Rule[] = [runsConcealed, runsFetched, unknownProgram, inlineCode, forkBomb]
