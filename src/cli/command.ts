import { parseArgs } from 'node:util'
import { BadUsage, badArguments } from '../lib/usage.ts'
import type { Io } from './io.ts'

export interface Option {
  type: 'string' | 'boolean'
  /** What stands for its value in help. */
  value?: string
  /** The values there are. */
  choices?: readonly string[]
  help: string
}
export type Options = Readonly<Record<string, Option>>

/** What is given on a command line, by option. */
export type Values<O extends Options> = { [K in keyof O]?: O[K]['type'] extends 'boolean' ? boolean : string }

export interface Word {
  /** As help names it: `ID`; in brackets where it may be left out, with `…` where it may be repeated. */
  name: string
  choices?: readonly string[]
}

export interface Command {
  summary: string
  words: readonly Word[]
  examples: readonly string[]
  options(): Promise<Options>
  /** Further paragraphs of its help. */
  notes?: readonly string[]
  /** Carries it out; gives the code to exit with. */
  run(io: Io, argv: string[]): Promise<number>
}

interface CommandSpec<O extends Options> extends Pick<Command, 'summary' | 'examples' | 'notes'> {
  words?: readonly Word[]
  options: O
  /** Its code, loaded when it is wanted. */
  load(): Promise<(io: Io, values: Values<O>, words: string[]) => Promise<number>>
}

/** A command whose line is taken apart by what it says of itself. */
export const command = <const O extends Options>({ words = [], options, load, ...spec }: CommandSpec<O>): Command => ({
  ...spec,
  words,
  options: async () => options,
  run: async (io, argv) => {
    const given = parse(options, words, argv)
    return (await load())(io, given.values as Values<O>, given.words)
  },
})

function parse(options: Options, words: readonly Word[], argv: string[]) {
  const known = Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]))
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: argv, options: known, strict: true, allowPositionals: true })
  } catch (error) {
    throw badArguments(error, Object.keys(options))
  }
  const { values, positionals } = parsed
  for (const [name, value] of Object.entries(values)) {
    const { choices } = options[name]!
    if (value === '') throw new BadUsage(`--${name} is empty`)
    if (choices && !choices.includes(String(value)))
      throw new BadUsage(`--${name} is one of ${choices.join(', ')} (got "${value}")`)
  }
  const missing = words[positionals.length]
  if (missing && !missing.name.startsWith('[')) throw new BadUsage(`${missing.name} is missing`)
  const extra = words.at(-1)?.name.includes('…') ? undefined : positionals[words.length]
  if (extra !== undefined) throw new BadUsage(`"${extra}" is a word too many`)
  for (const [i, { name, choices }] of words.entries())
    if (choices && positionals[i] !== undefined && !choices.includes(positionals[i]))
      throw new BadUsage(`${name} is one of ${choices.join(', ')} (got "${positionals[i]}")`)
  return { values, words: positionals }
}

/** A number that was given as text. */
export function amount(name: string, text: string | undefined, { whole = false } = {}): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(whole ? /^\d+$/ : /^\d+(\.\d+)?$/).test(text) || value <= 0)
    throw new BadUsage(`--${name} is a ${whole ? 'whole ' : ''}number above 0 (got "${text}")`)
  return value
}
