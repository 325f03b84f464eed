import { ANSWER_CHARACTERS, SNIPPET_CHARACTERS } from './file-limits.ts'
import { linesOf } from './text.ts'

/** What a text counts for in an answer: its characters, or more where JSON needs many bytes for them. */
const weigh = (text: string): number => Math.max(text.length, Math.ceil(Buffer.byteLength(JSON.stringify(text)) / 4))

/** Lines from the `first`-th on, counted from 1, as many as fit. */
export interface Page {
  lines: string[]
  first: number
  /** The last one shown; one less than the first when there is none. */
  last: number
  /** Of the whole text. */
  total: number
  /** The only line shown was too long, and is cut. */
  cut: boolean
}

export function page(content: string, first: number, last = Infinity, budget = ANSWER_CHARACTERS): Page {
  const all = linesOf(content)
  const lines: string[] = []
  let left = budget
  let cut = false
  for (const { text } of all.slice(first - 1, last)) {
    const weight = weigh(text) + NUMBER_WIDTH
    if (weight > left) {
      // A sixth: what is left of it when every character is escaped.
      cut = lines.length === 0
      if (cut) lines.push(whole(text.slice(0, Math.floor(left / (weight > text.length + NUMBER_WIDTH ? 6 : 1)))))
      break
    }
    lines.push(text)
    left -= weight
  }
  return { lines, first, last: first + lines.length - 1, total: all.length, cut }
}

const NUMBER_WIDTH = 8

/** Without half a character at its end. */
const whole = (text: string): string => (text.isWellFormed() ? text : text.slice(0, -1))

export const numbered = ({ lines, first }: Pick<Page, 'lines' | 'first'>): string =>
  lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n')

/** The lines around a change, numbered. */
export function snippet(content: string, firstLine: number, lastLine: number): string {
  const around = 4
  return numbered(page(content, Math.max(1, firstLine - around), lastLine + around, SNIPPET_CHARACTERS))
}

/** As many of them as an answer may hold. */
export function fitting<T>(items: readonly T[], { count, bytes }: { count: number; bytes: number }): T[] {
  let left = bytes
  const over = items.findIndex((item, index) => {
    left -= Buffer.byteLength(JSON.stringify(item))
    return index >= count || left < 0
  })
  return over < 0 ? [...items] : items.slice(0, over)
}
