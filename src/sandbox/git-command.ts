import { fault } from '../api/errors.ts'
import { type Outcome, run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** How long git may think about one question. */
const GIT_MS = 20_000
/** What is kept of its answer, unless told otherwise: the names of a hundred thousand files. In bytes. */
const OUTPUT_BYTES = 8 * 1024 * 1024
/** Filters that a repository may define; an honest one has two or three. */
const FILTERS = 100

/**
 * A repository says much about what git runs: hooks, monitors, filters, drivers, pagers, transports, helpers. Nothing of that is
 * wanted to look at it, and whoever filled it may not be trusted. What cannot be switched off by an option is here.
 */
const ENV = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  // A partial clone fetches what is missing, and how it does so stands in its configuration.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_SSH_COMMAND: 'false',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS: 'false',
  GIT_EDITOR: 'false',
  GIT_PAGER: 'cat',
  LC_ALL: 'C.UTF-8',
}

const CONFIG: readonly (readonly [string, string])[] = [
  // Whose it is does not matter, for nothing of it is run.
  ['safe.directory', '*'],
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.sshCommand', 'false'],
  ['core.askPass', 'false'],
  ['core.alternateRefsCommand', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.untrackedCache', 'false'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['protocol.ext.allow', 'never'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['log.showSignature', 'false'],
  ['color.ui', 'false'],
  ['diff.autoRefreshIndex', 'true'],
  ['submodule.recurse', 'false'],
]

export interface GitOptions {
  /** In bytes. */
  limit?: number
  /** Names of filters that are not to be run. */
  filters?: readonly string[]
}

/** Runs git in a folder of a sandbox, by its arguments, with nothing that the repository asks to have run. */
export async function git(
  sandbox: Sandbox,
  folder: string,
  args: readonly string[],
  { limit = OUTPUT_BYTES, filters = [] }: GitOptions = {},
): Promise<Outcome> {
  const argv = ['git', '--no-pager', '-C', folder, ...args] as const
  return checked(await run(sandbox, { argv, env: environment(filters), timeoutMs: GIT_MS, label: 'git' }, { limit }))
}

/** The same for a script that runs git on its own account, with `words` as its parameters. */
export async function gitScript(sandbox: Sandbox, script: string, words: readonly string[]): Promise<Outcome> {
  const argv = ['/bin/sh', '-c', script, 'sh', ...words] as const
  return checked(
    await run(sandbox, { argv, env: environment([]), timeoutMs: GIT_MS, label: 'git' }, { limit: OUTPUT_BYTES }),
  )
}

function checked(outcome: Outcome): Outcome {
  if (outcome.reason === 'timeout') throw fault('git_failed', `git took longer than ${GIT_MS / 1000} seconds`)
  if (outcome.reason === 'lost') throw fault('git_failed', 'The sandbox went away')
  if (outcome.code === 127) throw fault('git_failed', 'There is no git in the sandbox')
  return outcome
}

/** Standard output of a command that must succeed. One that was ended for saying too much has said enough. */
export function answer({ code, stdout, stderr, overflow }: Outcome): Buffer {
  if (code !== 0 && !overflow) throw fault('git_failed', firstLine(stderr) || `git ended with ${code}`)
  return stdout
}

/** Long enough to be understood. */
const MESSAGE_CHARACTERS = 500

const firstLine = (stderr: Buffer): string => stderr.toString('utf8').split('\n', 1)[0]!.slice(0, MESSAGE_CHARACTERS)

/**
 * The filters that a repository defines. Attributes say which file goes through which, and they cannot be switched off: so each
 * is, by its name.
 */
export async function filtersOf(sandbox: Sandbox, folder: string): Promise<string[]> {
  const listed = await git(sandbox, folder, ['config', '--null', '--name-only', '--get-regexp', '^filter\\.'])
  if (listed.code === 1) return []
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let keys: string[]
  try {
    keys = text.decode(answer(listed)).split('\0').filter(Boolean)
  } catch {
    throw fault('git_failed', 'The repository has a filter whose name is no text')
  }
  const names = new Set(keys.map(key => key.slice('filter.'.length, key.lastIndexOf('.'))))
  if (names.size > FILTERS || listed.overflow) throw fault('git_failed', 'The repository has too many filters')
  return [...names]
}

function environment(filters: readonly string[]): Record<string, string> {
  const off = filters.flatMap((name): [string, string][] => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.smudge`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ])
  const config = [...CONFIG, ...off]
  const pairs = config.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ])
  return { ...ENV, GIT_CONFIG_COUNT: `${config.length}`, ...Object.fromEntries(pairs) }
}
