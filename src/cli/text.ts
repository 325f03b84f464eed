import { stripVTControlCharacters } from 'node:util'

/**
 * What steers a terminal, hides in it or turns its text around. Whatever an agent says is shown by others' hands: it must not
 * move the cursor, recolour a question or make a command look like another.
 */
const STEERING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** Text of others, as it may be written to a terminal: what would steer it is shown instead of done. */
export const safe = (text: string): string => text.replaceAll('\r\n', '\n').replace(STEERING, visible)

function visible(character: string): string {
  const code = character.codePointAt(0)!
  if (code === 0x7f) return '␡'
  return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `\\u{${code.toString(16)}}`
}

/** Output of programs: their colours are left out, the rest as above. */
export const output = (text: string): string => safe(stripVTControlCharacters(text))

/** The gist of a text in one line of at most so many characters. */
export function oneLine(text: string, width: number): string {
  const characters = [...text.trim().replace(/\s+/g, ' ')]
  return characters.length <= width ? characters.join('') : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

export const indented = (text: string, by: string): string =>
  text
    .split('\n')
    .map(line => `${by}${line}`.trimEnd())
    .join('\n')

export type Style = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>

/** Colours where somebody sees them: on a terminal, unless NO_COLOR says otherwise. */
export function styleOf(out: { isTTY?: boolean }, env: Record<string, string | undefined>): Style {
  const isPlain = !out.isTTY || !!env.NO_COLOR || env.TERM === 'dumb'
  const code = (on: number, off: number) => (text: string) => (isPlain ? text : `\x1b[${on}m${text}\x1b[${off}m`)
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    cyan: code(36, 39),
  }
}

const UNITS: readonly [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** How long ago that was, roughly. */
export function age(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000))
  const [size, name] = UNITS.find(([unit]) => seconds >= unit) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${name}`
}

/** Less of a title tells nothing: rather a line that is too long. */
const LEAST = 10

/** Rows under each other; the last column has what room is left of the width, but is never without any. */
export function columns(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string[] {
  const widths = rows.reduce<number[]>((all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, cell.length)), [])
  return rows.map(row => {
    const before = row.slice(0, -1).map((cell, i) => `${cell.padEnd(widths[i]!)}  `)
    return `${before.join('')}${oneLine(row.at(-1)!, Math.max(LEAST, width - before.join('').length))}`.trimEnd()
  })
}
