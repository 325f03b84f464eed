import { Unparsable, type Word } from './script.ts'

/** Enough for what people write; more would be a way to make the check expensive. */
const MOST_WORDS = 256

/**
 * Characters that mean something to the shell only where they are not quoted. While a word is read they stand in it as
 * noncharacters of Unicode, which no text has.
 */
const SPECIAL = '{},*?['
const MARKS = '\uFDD0\uFDD1\uFDD2\uFDD3\uFDD4\uFDD5'
export const SPLIT = '\uFDD6'
export const RESERVED = /[\0\uFDD0-\uFDEF]/

const [OPEN, CLOSE, COMMA] = MARKS as unknown as [string, string, string]

/** An unquoted character as it stands in a word while that is read. */
export function mark(character: string): string {
  const index = SPECIAL.indexOf(character)
  return index < 0 ? character : MARKS[index]!
}

/** The words that one written word becomes: braces expanded, then split where an expansion splits it. */
export function expand(word: Word): Word[] {
  if (word.text.split(OPEN).length > MOST_WORDS) throw new Unparsable('A word expands to too many')
  const texts = braces(word.text).flatMap(text => text.split(SPLIT))
  if (texts.length > MOST_WORDS) throw new Unparsable('A word expands to too many')
  const kept = texts.length > 1 ? texts.filter(text => text !== '') : texts
  return kept.map(text => ({ ...word, text: plain(text), glob: word.glob || /[\uFDD3-\uFDD5]/.test(text) }))
}

/** The one word where a shell neither splits nor expands braces. */
export const joined = (word: Word): Word => ({ ...word, text: plain(word.text.replaceAll(SPLIT, ' ')) })

const plain = (text: string) => text.replace(/[\uFDD0-\uFDD5]/g, found => SPECIAL[MARKS.indexOf(found)]!)

function braces(text: string): string[] {
  for (let start = text.indexOf(OPEN); start >= 0; start = text.indexOf(OPEN, start + 1)) {
    const choices = choicesAt(text, start)
    if (!choices) continue
    const tails = braces(text.slice(choices.end))
    const heads = choices.parts.flatMap(part => braces(part))
    if (heads.length * tails.length > MOST_WORDS) throw new Unparsable('A word expands to too many')
    return heads.flatMap(head => tails.map(tail => text.slice(0, start) + head + tail))
  }
  return [text]
}

/** The alternatives of the brace that opens at `start`; undefined when it is only a brace. */
function choicesAt(text: string, start: number): { parts: string[]; end: number } | undefined {
  const parts: string[] = []
  let depth = 0
  let from = start + 1
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === OPEN) depth += 1
    if (character === COMMA && depth === 1) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
    if (character === CLOSE && --depth === 0) {
      parts.push(text.slice(from, at))
      return parts.length > 1 ? { parts, end: at + 1 } : undefined
    }
  }
  return undefined
}

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** What `$'…'` says. */
export const ansi = (text: string): string =>
  text.replace(
    /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,6})|([0-7]{1,3})|c(.)|([\s\S]))/g,
    (_, x?: string, u?: string, U?: string, octal?: string, control?: string, other = '') => {
      const hex = x ?? u ?? U
      if (hex) return String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff))
      if (octal) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff)
      if (control) return String.fromCharCode(control.charCodeAt(0) & 31)
      return ESCAPES[other] ?? other
    },
  )

/** What `echo` or `printf` writes; undefined of any other command. */
export function echoed([program, ...args]: readonly Word[]): string | undefined {
  const texts = args.map(({ text }) => text)
  if (program?.text === 'echo') return ansi(texts.filter(text => !/^-[neE]+$/.test(text)).join(' '))
  if (program?.text !== 'printf') return undefined
  const rest = texts.slice(1)
  const filled = (texts[0] ?? '').replace(/%[sb]/g, () => rest.shift() ?? '')
  return ansi([filled, ...rest].join(' '))
}
