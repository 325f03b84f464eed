import type { Word } from '../shell/script.ts'
import { gitWord, hasLong, readOptions } from './options.ts'
import type { Level, Rule } from './rule.ts'

/** The words after the subcommand. */
function after(args: readonly Word[], sub: string): Word[] {
  return args.slice(args.findIndex(({ text }) => text === sub) + 1)
}

const history: Rule = {
  id: 'history',
  why: 'Rewrites history or throws away work that is not committed',
  judge({ name, args }) {
    if (name !== 'git') return 'LOW'
    const sub = gitWord(args)
    const rest = after(args, sub)
    const options = readOptions(rest, sub === 'clean' ? 'e' : '')
    const has = (...flags: string[]) =>
      flags.some(flag => (flag.length === 1 ? options.flags.has(flag) : hasLong(options, flag)))
    const texts = options.operands.map(({ text }) => text)
    switch (sub) {
      case 'push':
        return has('f', 'd', 'force', 'force-with-lease', 'mirror', 'delete', 'prune') ||
          texts.slice(1).some(text => /^[+:]/.test(text))
          ? 'HIGH'
          : 'LOW'
      case 'reset':
        return has('hard') ? 'HIGH' : 'LOW'
      case 'clean':
        return has('n', 'dry-run') || !has('f', 'force') ? 'LOW' : 'HIGH'
      case 'branch':
        return has('D') || (has('d', 'delete') && has('f', 'force')) ? 'HIGH' : 'LOW'
      case 'filter-branch':
      case 'filter-repo':
        return 'HIGH'
      case 'reflog':
        return /^(expire|delete)$/.test(texts[0] ?? '') ? 'HIGH' : 'LOW'
      case 'update-ref':
        return has('d', 'stdin') ? 'HIGH' : 'MEDIUM'
      case 'gc':
      case 'prune':
        return sub === 'prune' || has('prune') ? 'MEDIUM' : 'LOW'
      case 'stash':
        return /^(drop|clear)$/.test(texts[0] ?? '') ? 'MEDIUM' : 'LOW'
      case 'tag':
        return has('d', 'delete') ? 'MEDIUM' : 'LOW'
      case 'rebase':
        return has('abort', 'continue', 'skip', 'quit') ? 'LOW' : 'MEDIUM'
      case 'checkout':
        return has('f', 'force') || texts.includes('.') ? 'MEDIUM' : 'LOW'
      case 'restore':
        return texts.includes('.') && !has('staged') ? 'MEDIUM' : 'LOW'
      default:
        return 'LOW'
    }
  },
}

const remotes: Rule = {
  id: 'remotes',
  why: 'Sends commits elsewhere, or changes where they go',
  judge({ name, args }) {
    if (name !== 'git') return 'LOW'
    const sub = gitWord(args)
    const texts = readOptions(after(args, sub), 'o').operands.map(({ text }) => text)
    if (sub === 'push') return texts[0] === undefined || texts[0] === 'origin' ? 'MEDIUM' : 'HIGH'
    if (sub === 'remote') return /^(add|set-url|rename|remove|rm)$/.test(texts[0] ?? '') ? 'MEDIUM' : 'LOW'
    return sub === 'send-email' || sub === 'send-pack' ? 'HIGH' : 'LOW'
  },
}

const RUNS_BY_CONFIG =
  /^(alias\..*|core\.(hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy)|credential\..*|diff\..*(command|textconv)|filter\..*|merge\..*driver|url\..*|http\..*proxy|init\.templatedir|gpg\..*program|include\..*|pager\..*|protocol\..*)/i

const configuration: Rule = {
  id: 'git-configuration',
  why: 'Sets what git runs by itself',
  judge({ name, args }): Level {
    if (name !== 'git') return 'LOW'
    const once = (readOptions(args, 'Cc').values.get('c') ?? []).map(({ text }) => text)
    // Reading, and turning the pager off, is harmless.
    if (once.some(text => RUNS_BY_CONFIG.test(text) && !/^(core\.)?pager(\.\w+)?=(cat|false)?$/i.test(text)))
      return 'HIGH'
    const rest =
      gitWord(args) === 'config'
        ? readOptions(after(args, 'config'), 'f', ['file']).operands.map(({ text }) => text)
        : []
    const [key = '', value] = rest[0] === 'set' || rest[0] === 'get' ? rest.slice(1) : rest
    return RUNS_BY_CONFIG.test(key) && value !== undefined && !/^(cat|less|vim?|nano|true|false)$/.test(value)
      ? 'HIGH'
      : 'LOW'
  },
}

export const gitRules: Rule[] = [history, remotes, configuration]
