import { type Command, plainWord, Unparsable, type Word } from '../shell/script.ts'

/** A program with its arguments, as it is finally run: `sudo env A=1 rm x` is a call of sudo, of env and of rm. */
export interface Call {
  /** Without folders. Empty when only the shell will know. */
  name: string
  program: Word
  args: Word[]
  /** Whose input and output are its own. */
  command: Command
}

interface Wrapper {
  /** Short options that take a value. */
  values?: string
  long?: string[]
  /** Operands of its own before the command. */
  skip?: number
}

const WRAPPERS: Record<string, Wrapper> = {
  sudo: { values: 'ugpCDRrtTUh', long: ['user', 'group', 'prompt', 'chdir', 'chroot', 'host'] },
  doas: { values: 'uCa' },
  pkexec: { long: ['user'] },
  env: { values: 'uC', long: ['unset', 'chdir'] },
  nohup: {},
  setsid: {},
  nice: { values: 'n', long: ['adjustment'] },
  ionice: { values: 'cnptu' },
  time: { values: 'fo' },
  timeout: { values: 'sk', long: ['signal', 'kill-after'], skip: 1 },
  stdbuf: { values: 'ioe' },
  exec: { values: 'a' },
  command: {},
  builtin: {},
  xargs: {
    values: 'ILnPsEad',
    long: ['max-args', 'max-procs', 'max-lines', 'max-chars', 'arg-file', 'delimiter', 'eof'],
  },
  parallel: { values: 'jaIN', long: ['jobs'] },
  screen: { values: 'SceshtTp' },
  watch: { values: 'n', long: ['interval'] },
  strace: { values: 'oeEpsauP' },
  ltrace: { values: 'oeupsaxl' },
  chroot: { skip: 1 },
  unshare: {},
  nsenter: { values: 't' },
  busybox: {},
  toybox: {},
  flock: { values: 'wE', skip: 1 },
  taskset: { skip: 1 },
  chrt: { skip: 1 },
  gosu: { skip: 1 },
  'su-exec': { skip: 1 },
  setpriv: {},
  fakeroot: {},
  unbuffer: {},
  torsocks: {},
  proxychains: {},
  proxychains4: {},
  tini: {},
  'dumb-init': {},
  'systemd-run': { values: 'pu' },
  npx: { values: 'p', long: ['package'] },
  bunx: {},
  uvx: { long: ['from', 'with'] },
}

/** Programs that run another by a word of theirs. */
const SUBCOMMANDS: Record<string, Record<string, Wrapper>> = {
  npm: { exec: { long: ['package'] }, x: {} },
  pnpm: { exec: {}, dlx: { long: ['package'] } },
  yarn: { exec: {}, dlx: { values: 'p' } },
  uv: { run: { long: ['with', 'python', 'directory', 'project'], values: 'p' } },
  poetry: { run: {} },
  pipenv: { run: {} },
  pdm: { run: {} },
  hatch: { run: {} },
  bundle: { exec: {} },
  conda: { run: { values: 'np', long: ['name', 'prefix'] } },
  docker: { exec: { values: 'eluw', long: ['env', 'user', 'workdir'], skip: 1 } },
  podman: { exec: { values: 'eluw', long: ['env', 'user', 'workdir'], skip: 1 } },
  kubectl: { exec: { values: 'nc', long: ['namespace', 'container'], skip: 1 } },
}

/** Enough for any honest chain of wrappers. */
const MOST_CALLS = 64

export function callsOf(command: Command): Call[] {
  const calls: Call[] = []
  const waiting = [command.words]
  for (let words = waiting.shift(); words; words = waiting.shift()) {
    const [program = plainWord(''), ...args] = words
    const call = { name: nameOf(program), program, args, command }
    if (calls.push(call) > MOST_CALLS) throw new Unparsable('Too many programs run each other')
    // An expansion to nothing leaves the next word to be the program.
    if (program.unknown && program.text === '' && args.length > 0) waiting.push(args)
    waiting.push(...commandsIn(call).filter(inner => inner.length > 0))
  }
  return calls
}

/** What runs a command may also call itself by where it runs. */
const ITSELF = /^\/proc\/(self|\$\$|\d+)\/exe$/

const nameOf = ({ text }: Word): string =>
  ITSELF.test(text) ? 'sh' : text.slice(text.lastIndexOf('/') + 1).toLowerCase()

/** The commands among the arguments of a call. */
function commandsIn({ name, args }: Call): Word[][] {
  if (name === 'find' || name === 'fd' || name === 'fdfind') return executed(args)
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined
  if (wrapper) return name === 'command' && /^-[vV]/.test(args[0]?.text ?? '') ? [] : [wrapped(args, wrapper)]
  const at = args.findIndex(word => !word.text.startsWith('-'))
  const sub = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name]![args[at]?.text ?? ''] : undefined
  return sub ? [wrapped(args.slice(at + 1), sub)] : []
}

function executed(args: Word[]): Word[][] {
  const starts = args.flatMap(({ text }, index) =>
    /^(-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch)$/.test(text) ? [index + 1] : [],
  )
  if (starts.length > MOST_CALLS) throw new Unparsable('Too many programs run each other')
  return starts.map(start => {
    const end = args.findIndex(({ text }, index) => index >= start && (text === ';' || text === '+'))
    return args.slice(start, end < 0 ? undefined : end)
  })
}

/** The command that follows the options and operands of a wrapper. */
export function wrapped(args: Word[], { values = '', long = [], skip = 0 }: Wrapper): Word[] {
  let at = 0
  for (let skipped = 0; at < args.length; at++) {
    const { text } = args[at]!
    if (text === '--') continue
    if (text.startsWith('--')) at += long.includes(text.slice(2)) ? 1 : 0
    else if (/^-./.test(text)) at += [...text].findIndex(letter => values.includes(letter)) === text.length - 1 ? 1 : 0
    else if (/^[A-Za-z_]\w*=/.test(text)) continue
    else if (skipped++ >= skip) break
  }
  return args.slice(at)
}
