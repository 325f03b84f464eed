import type { Word } from '../shell/script.ts'
import type { Call } from './call.ts'
import { gitWord, readOptions } from './options.ts'
import { lastingness, pathsIn, secrecy, spelled } from './paths.ts'
import { type Level, type Rule, worst } from './rule.ts'

/** Programs that take the name of a file without showing or copying what is in it. */
const NAMES_ONLY =
  /^(ls|ll|stat|test|\[|\[\[|touch|mkdir|rmdir|rm|chmod|chown|du|echo|printf|source|\.|cd|pushd|readlink|realpath|basename|dirname|ssh-add|ssh-keygen|ssh|export|exists|which|tree|exa|eza)$/
const GREPS = /^(grep|egrep|fgrep|rg|ag|ack|sed|awk|gawk|jq|yq)$/
/** It changes the file and shows nothing. */
const IN_PLACE = /^(-[a-z]*i|--in-place)/
const COPIES = /^(cp|mv|install|ln|rsync|scp)$/

/** The arguments that are the names of files it reads. */
function readBy({ name, args, command }: Call): Word[] {
  const inputs = command.redirects
    .filter(({ operator }) => operator === '<' || operator === '<>')
    .map(({ target }) => target)
  if (NAMES_ONLY.test(name)) return inputs
  if (name === 'git' && /^(add|check-ignore|status|rm|ls-files|commit|log|mv|update-index)$/.test(gitWord(args)))
    return inputs
  if (name === 'find')
    return args.some(({ text }) => /^-(exec|execdir|ok|okdir)$/.test(text)) ? [...inputs, ...args] : inputs
  if (name === 'sed' && args.some(({ text }) => IN_PLACE.test(text))) return inputs
  if (GREPS.test(name)) return [...inputs, ...readOptions(args, 'efABCmgt').operands.slice(1)]
  if (COPIES.test(name)) return [...inputs, ...readOptions(args, 't').operands.slice(0, -1)]
  return [...inputs, ...args]
}

const credentials: Rule = {
  id: 'credentials',
  why: 'Reads keys, passwords or tokens',
  judge: (call, { dir }) =>
    worst(
      readBy(call)
        .flatMap(pathsIn)
        .map(path => secrecy(spelled(path, dir))),
    ),
}

const PRINTS: [RegExp, RegExp, Level][] = [
  [/^gh$/, /^auth (token|status.*(-t|--show-token))/, 'HIGH'],
  [
    /^aws$/,
    /configure (get|export-credentials)|get-session-token|assume-role|get-secret-value|get-login-password/,
    'HIGH',
  ],
  [/^gcloud$/, /auth .*print-(access|identity)-token|secrets versions access/, 'HIGH'],
  [/^az$/, /get-access-token|keyvault secret show/, 'HIGH'],
  [/^kubectl$/, /get secrets?\b.*-o|config view.*--raw|create token/, 'HIGH'],
  [/^(vault|op|pass|bw|lpass)$/, /^(kv get|read|show|get|item get)/, 'HIGH'],
  [/^security$/, /find-(generic|internet)-password|dump-keychain/, 'HIGH'],
  [/^secret-tool$/, /lookup|search/, 'HIGH'],
  [/^git$/, /credential(-\w+)? (fill|get)|credential fill/, 'HIGH'],
  [/^(heroku|flyctl|fly|doctl)$/, /auth:?\s?token/, 'HIGH'],
  [/^gpg2?$/, /--export-secret/, 'HIGH'],
  [
    /^(curl|wget|http|fetch)$/,
    /169\.254\.169\.254|metadata\.google\.internal|\[fd00:ec2::254\]|2852039166|0xa9fea9fe/i,
    'HIGH',
  ],
  [/^npm$/, /^token|config (get|list).*_auth/, 'HIGH'],
]

const printed: Rule = {
  id: 'credentials-printed',
  why: 'Has a program print a key or a token it keeps',
  judge({ name, args }) {
    const text = args.map(word => word.text).join(' ')
    return PRINTS.find(([program, words]) => program.test(name) && words.test(text))?.[2] ?? 'LOW'
  },
}

const SECRET_NAME = /token|secret|passw|api_?key|private_?key|credential|access_?key/i

const environment: Rule = {
  id: 'environment',
  why: 'Shows environment variables, which may hold secrets',
  judge({ name, args, command }) {
    const texts = args.map(({ text }) => text)
    const bare = texts.every(text => text.startsWith('-'))
    if (name === 'env') return bare && !texts.some(text => /help|version/.test(text)) ? 'MEDIUM' : 'LOW'
    if (name === 'printenv') return bare || texts.some(text => SECRET_NAME.test(text)) ? 'MEDIUM' : 'LOW'
    if (name === 'set') return texts.length === 0 && command.assigned.length === 0 ? 'MEDIUM' : 'LOW'
    if (/^(export|declare|typeset)$/.test(name))
      return bare && command.assigned.length === 0 && !texts.some(text => /[fF]/.test(text)) ? 'MEDIUM' : 'LOW'
    const shows = name === 'echo' || name === 'printf' || name === 'cat'
    const words = [...args, ...command.redirects.map(({ target }) => target)]
    return shows && words.some(({ variables }) => variables.some(one => SECRET_NAME.test(one))) ? 'MEDIUM' : 'LOW'
  },
}

/** The files that a call writes. */
function writtenBy({ name, args, command }: Call): Word[] {
  const outputs = command.redirects
    .filter(({ operator }) => /^(>|>>|>\||&>|&>>|<>|>&)$/.test(operator))
    .map(({ target }) => target)
  if (name === 'tee' || name === 'sponge' || name === 'truncate' || name === 'patch')
    return [...outputs, ...readOptions(args, 's').operands]
  if (name === 'dd')
    return [
      ...outputs,
      ...args.filter(({ text }) => text.startsWith('of=')).map(word => ({ ...word, text: word.text.slice(3) })),
    ]
  if (name === 'sed' || name === 'perl' || name === 'ruby')
    return args.some(({ text }) => IN_PLACE.test(text)) ? [...outputs, ...readOptions(args, 'e').operands] : outputs
  if (name === 'curl') return [...outputs, ...told(args, 'oHXdAeuTFbc', ['o', 'output'])]
  if (name === 'wget') return [...outputs, ...told(args, 'OPUo', ['O', 'output-document', 'P', 'directory-prefix'])]
  if (name === 'tar') return [...outputs, ...told(args, 'Cf', ['C', 'directory'])]
  if (name === 'unzip') return [...outputs, ...told(args, 'd', ['d'])]
  if (!COPIES.test(name)) return outputs
  const { operands, values } = readOptions(args, 'tmog', ['target-directory'])
  return [...outputs, ...(values.get('t') ?? values.get('target-directory') ?? operands.slice(-1))]
}

const told = (args: Word[], letters: string, names: string[]): Word[] => {
  const { values } = readOptions(args, letters, names)
  return names.flatMap(name => values.get(name) ?? [])
}

const lastingWrite: Rule = {
  id: 'lasting-write',
  why: 'Writes a file that is run or trusted later: start-up files, hooks, CI, system settings',
  judge: (call, { dir }) => worst(writtenBy(call).map(({ text }) => lastingness(spelled(text, dir)))),
}

export const secretRules: Rule[] = [credentials, printed, environment, lastingWrite]
