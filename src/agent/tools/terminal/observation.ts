import type { TerminalObservation } from '../../../api/observations.ts'
import { said } from '../built-in.ts'
import type { Captured } from './capture.ts'
import type { Shell } from './shell.ts'

/** The exit code of what still runs. */
export const RUNNING = -1

export interface Seen {
  command: string
  code: number
  /** What was printed during the call. */
  output?: Captured
  /** What to know first, a paragraph each. */
  before?: readonly string[]
  /** What became of it, one sentence or more. */
  after: string
  timeout?: boolean
  shell: Shell | undefined
}

/** What was printed is the content; what a model is told around it stands apart, where clients do not show it as output. */
export function observe({
  command,
  code,
  output,
  before = [],
  after,
  timeout = false,
  shell,
}: Seen): TerminalObservation {
  const prefix = before.map(paragraph => `${paragraph}\n`).join('')
  const text = output?.text.replace(/\n$/, '') ?? ''
  const suffix = `${text === '' ? '' : '\n'}[${after}${shell ? ` Working directory: ${shell.workingDir}` : ''}]`
  const file = output?.file
  return {
    kind: 'TerminalObservation',
    content: said(text),
    is_error: false,
    command,
    exit_code: code,
    timeout,
    metadata: {
      exit_code: code,
      pid: shell?.pid ?? -1,
      username: shell?.username ?? null,
      hostname: shell?.hostname ?? null,
      working_dir: shell?.workingDir ?? null,
      py_interpreter_path: null,
      prefix,
      suffix,
    },
    full_output_save_dir: file === undefined ? null : file.slice(0, file.lastIndexOf('/')),
  }
}

/** What the terminal was asked and will not do. */
export function refuse(seen: Seen): TerminalObservation {
  const { metadata, ...rest } = observe(seen)
  return { ...rest, is_error: true, content: said(metadata.suffix), metadata: { ...metadata, suffix: '' } }
}

/** A paragraph with what was printed, unless that is nothing to speak of. */
export const paragraph = (title: string, text: string): string[] =>
  text.trim() === '' ? [] : [`[${title}:]\n${text.replace(/\n$/, '')}\n[End of it.]`]
