import { wrap } from '../lib/wrap.ts'
import type { Command, Option } from './command.ts'
import { commands } from './index.ts'

const WIDTH = 84

/** What there is. */
export function overview(): string {
  const width = Math.max(...Object.keys(commands).map(name => name.length))
  return [
    'gantry: an agent server, and a command line for it',
    '',
    'Usage: gantry [command] [options]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'Examples:',
    '  gantry                                            start the server on http://127.0.0.1:8000',
    '  gantry run "fix the failing test" --workspace .   have an agent do it, in this folder',
    '  gantry run --model demo/guide "show me around"    without any model',
    '',
    '"gantry COMMAND --help" says more of each, "gantry --version" which version this is.',
  ].join('\n')
}

/** What a command does, and how. */
export async function helpOf(name: string, command: Command): Promise<string> {
  const options = Object.entries(await command.options())
  return [
    command.summary,
    '',
    `Usage: gantry ${[name, ...command.words.map(word => word.name), '[options]'].join(' ')}`,
    ...section('Options', [
      ...options.flatMap(([option, about]) => described(option, about)),
      ...described('help, -h', { type: 'boolean', help: 'Show this.' }),
    ]),
    ...(command.notes ?? []).flatMap(note => ['', ...wrap(note, WIDTH)]),
    ...section(
      'Examples',
      command.examples.map(example => `  ${example}`),
    ),
  ].join('\n')
}

const section = (title: string, lines: string[]): string[] => ['', `${title}:`, ...lines]

const described = (name: string, { value, choices, help }: Option): string[] => [
  `  --${name}${value === undefined ? '' : ` ${choices?.join('|') ?? value}`}`,
  ...wrap(help, WIDTH).map(line => `      ${line}`),
]
