import { quote } from '../../../sandbox/shell.ts'
import { END_LEFT_OVERS } from './left-overs.ts'

/**
 * How a shell is driven. Its commands come through a pipe of their own, on which it is interactive, so that ctrl-c leads it back to
 * the next command instead of ending it; what it runs has the terminal. So no command can be echoed, cut short by the terminal or read
 * by the program before it, and what is typed into a program is never run.
 */

/**
 * Makes the pipe, named by the first argument: whoever of its two ends comes first does, so that neither waits for the other to start.
 * Its folder is ours alone, though its name can be read in a list of processes.
 */
const MEET = `d=\${TMPDIR:-/tmp}/$1
[ -O "$d" ] || mkdir -m 700 "$d" 2>/dev/null || [ -O "$d" ] || exit 1
[ -p "$d/in" ] || mkfifo "$d/in" 2>/dev/null`

/**
 * Waits for the shell to open the pipe, which waits for this end in turn, and passes on what it is told. Nothing stays on disk but
 * what a start that was cut short left, until the next of its conversation. Not `cat`: that of busybox may wait for more before it passes
 * anything on.
 */
export const FEED = `${MEET}
for o in "\${d%-*}"-*; do [ "$o" = "$d" ] || rm -rf "$o"; done
${END_LEFT_OVERS}
exec 9>"$d/in" && rm -rf "$d" && exec dd bs=65536 >&9 9>&- 2>/dev/null`

/**
 * Becomes the shell, in the folder of the third argument, which may have been removed meanwhile. Input is not echoed, lines end as they
 * were printed, and no key stops the output. It bears its mark once nothing is looked for that does.
 */
export const START = `stty -echo -onlcr -ixon 2>/dev/null
cd -- "$3" 2>/dev/null || { mkdir -p -- "$3" && cd -- "$3"; } || exit 126
${MEET}
exec <"$d/in"
unset d
export GANTRY_TERMINAL="$2"
if command -v bash >/dev/null; then exec bash --noprofile --norc --noediting +H -i; fi
exec sh -i`

/** Programs find nobody here who reads page by page, looks at colours or closes an editor. */
export const ENVIRONMENT = {
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
}

/**
 * A mark of this number, on the terminal whatever has become of the shell's output. Options that would show our lines, or end the shell
 * with the next failure, hold for one command.
 */
const report = (token: string, number: number, text: string): string =>
  `{ \\command printf '\\033]%s;%s;%s;%s;%s\\007' ${token} ${number} "$?" ${text} ${token} >/dev/tty; set +evx; PS1= PS2= PROMPT_COMMAND=; } 2>/dev/null`

const WORKING_DIRECTORY = `"\${PWD-}"`

/** What can be a variable. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * What a shell that ignores the end of its input says to it. That of busybox takes it for the end when a background program ends while it
 * waits for its next command.
 */
export const NO_END = '\nUse "exit" to leave shell.\n'

/** The first lines. `profile` is whether to read what a person put into the file for interactive shells. */
export function opening(token: string, profile: boolean): string {
  const read = '[ ! -r ~/.bashrc ] || . ~/.bashrc </dev/null >/dev/null 2>&1'
  return `PS1= PS2=
if [ -n "\${BASH-}" ]; then
set +o history
${profile ? read : ':'}
set +o history
unset HISTFILE
history -c
else set -o ignoreeof
fi
${report(token, 0, `"$$;\${BASH:+bash};$(id -un 2>/dev/null);$(uname -n);$PWD"`)}
`
}

/**
 * Runs a command with variables of its own, and reports twice: the second time for when the first was skipped by an interrupt.
 * `previous` is what `$?` is to begin with.
 */
export function running(
  { token, number, previous }: { token: string; number: number; previous: number },
  command: string,
  variables: Readonly<Record<string, string>>,
): string {
  const possible = Object.entries(variables).filter(([name, value]) => NAME.test(name) && !value.includes('\0'))
  const assigned = possible.map(([name, value]) => `${name}=${quote(value)} `)
  const before = previous !== 0 && command.includes('$?') ? `(exit ${previous}); ` : ''
  return `${before}${assigned.join('')}\\command eval ${quote(command)} </dev/tty; ${report(token, number, WORKING_DIRECTORY)}
${asking(token, number)}`
}

/** To report what has become of a command, once the shell gets round to it. After a syntax error bash takes an empty line to read on properly. */
export const asking = (token: string, number: number): string => `\n${report(token, number, WORKING_DIRECTORY)}\n`

/** Kills what a shell has in the foreground of its terminal; not the shell itself. Argument: its process id. */
export const KILL_FOREGROUND = `IFS= read -r stat <"/proc/$1/stat" || exit 1
set -- \${stat##*) }
[ "$3" != "$6" ] && kill -s KILL -- "-$6"`
