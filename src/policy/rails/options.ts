import type { Word } from '../shell/script.ts'

export interface Options {
  /** Short letters and long names, as given. */
  flags: Set<string>
  /** What options were told, by letter or long name. */
  values: Map<string, Word[]>
  operands: Word[]
}

const cut = (word: Word, from: number): Word => ({ ...word, text: word.text.slice(from) })

/** Arguments as most programs read them. `withValue`: the short letters that take one; long ones take theirs after `=` or by name. */
export function readOptions(args: readonly Word[], withValue = '', longWithValue: readonly string[] = []): Options {
  const options: Options = { flags: new Set(), values: new Map(), operands: [] }
  const told = (name: string, value: Word | undefined) => {
    options.flags.add(name)
    if (value) options.values.set(name, [...(options.values.get(name) ?? []), value])
  }
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!
    const { text } = word
    if (text === '--') {
      options.operands.push(...args.slice(index + 1))
      break
    }
    if (text.startsWith('--')) {
      const [name = ''] = text.slice(2).split('=', 1)
      const attached = text.includes('=') ? cut(word, name.length + 3) : undefined
      told(name, attached ?? (longWithValue.includes(name) ? args[++index] : undefined))
    } else if (/^-[^-]/.test(text)) {
      for (let at = 1; at < text.length; at++) {
        const letter = text[at]!
        if (!withValue.includes(letter)) told(letter, undefined)
        else {
          told(letter, at + 1 < text.length ? cut(word, at + 1) : args[++index])
          break
        }
      }
    } else options.operands.push(word)
  }
  return options
}

/** Whether a long option was given, whole or shortened as GNU programs allow. */
export const hasLong = ({ flags }: Options, name: string): boolean =>
  [...flags].some(flag => flag.length > 2 && name.startsWith(flag))

/** The subcommand of git. */
export const gitWord = (args: readonly Word[]): string => readOptions(args, 'Cc').operands[0]?.text ?? ''
