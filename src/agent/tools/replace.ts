import { find } from './find.ts'
import { lineEnd, withEnds } from './text.ts'
import { numbered } from './view.ts'

/** A place in a text where what was looked for stands. */
export interface Place {
  start: number
  end: number
  /** Counted from 1. */
  line: number
}

/**
 * Where `wanted` stands, at most `limit` times. Where lines end with CRLF they match however `wanted` ends them: a model does not see
 * the difference.
 */
export function placesOf(
  content: string,
  wanted: string,
  { limit, overlapping }: { limit: number; overlapping: boolean },
): Place[] {
  const crlf = content.includes('\r\n')
  const plain = crlf ? content.replaceAll('\r\n', '\n') : content
  const sought = crlf ? withEnds(wanted, '\n') : wanted
  const places: Place[] = []
  let index = 0
  let line = 1
  let removed = 0
  let free = 0
  for (const at of find(plain, sought)) {
    if (at < free) continue
    for (; index < at; index += 1) {
      if (plain[index] !== '\n') continue
      line += 1
      if (crlf && content[index + removed] === '\r') removed += 1
    }
    const start = at + removed
    places.push({ start, end: start + sought.length + (crlf ? returnsIn(content, start, sought) : 0), line })
    if (places.length >= limit) break
    if (!overlapping) free = at + sought.length
  }
  return places
}

/** How many carriage returns the text has from there on, where the plain text has none. */
function returnsIn(content: string, start: number, plain: string): number {
  let returns = 0
  for (let index = 0; index < plain.length; index += 1)
    if (plain[index] === '\n' && content[start + index + returns] === '\r') returns += 1
  return returns
}

/** The text with something else in these places, which do not overlap. Lines that are added end as the others there do. */
export function replaceAt(content: string, places: readonly Place[], replacement: string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of places) {
    const old = content.slice(start, end)
    const adapted = content.includes('\r\n')
      ? withEnds(replacement, lineEnd(old.includes('\n') ? old : content))
      : replacement
    parts.push(content.slice(from, start), adapted)
    from = end
  }
  return [...parts, content.slice(from)].join('')
}

/** How much of a long text is compared, which nobody should wait for. */
const COMPARED_LINES = 20_000
const COMPARED_CHARACTERS = 120
const COMPARED_WANTED = 200
/** Below it lines have little in common. */
const ALIKE = 0.5
const SHOWN = 10

/** For a text that does not stand there: what does that is most like it, as a hint; empty when nothing is. */
export function nearest(content: string, wanted: string): string {
  const lines = content.replaceAll('\r\n', '\n').split('\n').slice(0, COMPARED_LINES)
  const sought = wanted.replaceAll('\r\n', '\n').split('\n').slice(0, COMPARED_WANTED)
  const squeezed = (line: string) => line.trim().replaceAll(/\s+/g, ' ')
  const core = sought.map(squeezed)
  while (core.at(-1) === '') core.pop()
  while (core[0] === '') core.shift()
  if (core.length === 0) return ''
  const at = find(lines.map(squeezed), core).next().value
  const show = (first: number, length: number) =>
    numbered({ lines: lines.slice(first, first + Math.min(length, SHOWN)).map(shorten), first: first + 1 })
  if (at !== undefined)
    return `With other white space it stands at line ${at + 1}; copy it exactly:\n${show(at, core.length)}`
  const pairs = pairsOf(core[0]!)
  let best = { alike: ALIKE, index: -1 }
  lines.forEach((line, index) => {
    const alike = likeness(pairs, pairsOf(squeezed(line.slice(0, 2 * COMPARED_CHARACTERS))))
    if (alike > best.alike) best = { alike, index }
  })
  return best.index < 0 ? '' : `The most similar lines are:\n${show(best.index, core.length)}`
}

const shorten = (line: string): string => (line.length > 300 ? `${line.slice(0, 300).toWellFormed()}…` : line)

function pairsOf(line: string): Set<string> {
  const pairs = new Set<string>()
  for (let index = 0; index + 1 < Math.min(line.length, COMPARED_CHARACTERS); index += 1)
    pairs.add(line.slice(index, index + 2))
  return pairs
}

/** From 0 to 1, by the pairs of characters they share (Dice). */
function likeness(a: Set<string>, b: Set<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  return (2 * a.intersection(b).size) / (a.size + b.size)
}
