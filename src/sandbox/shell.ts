import { fault } from '../api/errors.ts'
import type { Size } from './sandbox.ts'

/** For POSIX shells: one word, whatever is in it. NUL cannot be in a word at all. */
export const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

export interface Launch {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  pty?: Size
  /** Words of a shell that limit it and what it starts. */
  limits?: readonly string[]
}

/** Refuses what no process can be given. */
export function checkLaunch<L extends Launch>(launch: L): L {
  const { argv, cwd, env } = launch
  for (const word of [...argv, cwd, ...Object.values(env)])
    if (word.includes('\0')) throw fault('bad_request', 'A command cannot hold a NUL character')
  const strange = Object.keys(env).find(name => !NAME.test(name))
  if (strange !== undefined) throw fault('bad_request', `Not a name of an environment variable: ${strange}`)
  return launch
}

/**
 * The words with which a shell becomes the command (see `LISTENING` in local/child.ts: in braces, so that all are read before the
 * first changes what the shell reads from), from inside the sandbox: variables are set there and not on the way, where
 * `LD_PRELOAD` would act on the server's side of the wall and a secret would stand in a process list.
 */
export function becoming(launch: Launch): string {
  const { argv, cwd, env, pty, limits = [] } = checkLaunch(launch)
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}\n`)
  const missing = quote(`No such directory: ${cwd}`)
  const command = `exec ${argv.map(quote).join(' ')}`
  return `{
exec <&5 5<&- 7<&- 8<&-
unset GANTRY_WAY; umask 022
${[...limits, ''].join('\n')}${exports.join('')}cd -- ${quote(cwd)} 2>/dev/null || { printf '%s\\n' ${missing} >&2; exit 126; }
${pty ? inTerminal(command, pty) : `echo >&4; exec 4>&-\n${command}`}
}
`
}

/** `script` gives the command a terminal of the sandbox's own. Its name goes out on descriptor 4, for resizing. */
function inTerminal(command: string, { columns, rows }: Size): string {
  const inner = `stty cols ${columns} rows ${rows}; tty >&4; exec 4>&-; ${command}`
  return `SHELL=/bin/sh exec script --quiet --flush --return --echo always --command ${quote(inner)} /dev/null`
}
