import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, spoken } from './built-in.ts'
import { INPUT_LINE_BYTES, STORED_OUTPUTS, WAITS, type Waits } from './terminal/limits.ts'
import { Session } from './terminal/session.ts'

const seconds = (ms: number): string => `${ms / 1000} s`

const DESCRIPTION = `Runs a command in a shell that stays: working directory, variables, functions and aliases are still there at the next call. The shell is bash, or sh where there is no bash. It has a terminal.

Commands
- One command at a time. It may have several lines, here-documents included, and be of any length. Use && or ; to chain.
- The answer ends with the exit code and the working directory. \`set -e\` and \`set -x\` hold for one call. \`exit\` ends the shell: the next call gets a new one.
- Start servers and other things that never end in the background, with their output in a file: \`npm start > /tmp/server.log 2>&1 &\`. Look at the file later.

Time
- With \`timeout\` (seconds) the command is interrupted, and if need be killed, when that has passed. Give it for anything that might take long, generously.
- Without it, a command that prints nothing new for ${seconds(WAITS.quiet)} (or has been printing for ${seconds(WAITS.longest)}) goes on, and you get what there is so far, with exit code -1.
- While a command runs, no other can be started. Send \`is_input: true\` with an empty command to wait for more, with text to type it into the program (the enter key is added unless it ends with a line break), or with one of the keys C-c (interrupt), C-d (end of input), C-z, C-\\ or any other C-letter, ENTER, TAB, ESC, BS, UP, DOWN, LEFT, RIGHT. With is_input, \`timeout\` is only how long to wait; the program goes on. Lines of input have at most ${INPUT_LINE_BYTES} bytes.
- \`reset: true\` ends the shell with everything it started, and starts a new one; then the command, if there is one, runs in it. For when nothing else helps.

Output
- Colours and the like are removed, and lines that were overwritten (progress bars) show their last state.
- Of a long output you get the beginning and the end, and the path of a file with all of it, to search with grep or read in parts with sed -n. The last ${STORED_OUTPUTS} of these files are kept. Better: print less, with quiet flags, head, tail or grep.
- Nothing waits for a reader: pagers print everything, and git starts no editor. Do not start editors or other programs that take the whole screen; write files with the tools for that. Interpreters such as python work through is_input, but a script in a file is simpler.`

const Input = spoken(() =>
  z.object({
    command: z
      .string()
      .describe(
        'What to run. With is_input: what to type, or the name of a key; empty to only read on. May be empty with reset.',
      ),
    is_input: z
      .boolean()
      .default(false)
      .describe('The command is input for the program that runs, not a command for the shell.'),
    timeout: z
      .number()
      .min(0)
      .nullish()
      .describe('Seconds after which the command is interrupted. With is_input: how long to wait for more output.'),
    reset: z.boolean().default(false).describe('Start a new shell first. Not together with is_input.'),
  }),
)

/** A shell for a conversation, started when it is first needed or shortly before. Tests have less time to wait. */
export function makeTerminal(waits: Partial<Waits> = {}): Tool {
  const session = new Session({ ...WAITS, ...waits })
  return builtIn({
    name: 'terminal',
    kind: 'TerminalTool',
    action: 'TerminalAction',
    observation: 'TerminalObservation',
    description: DESCRIPTION,
    input: Input,
    run: (action, hands) => session.call(action, hands),
    warm: hands => session.warm(hands),
    close: () => session.close(),
  })
}
