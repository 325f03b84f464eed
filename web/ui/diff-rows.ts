import { diffWordsWithSpace, structuredPatch } from 'diff'

/** A piece of a line; marked where it differs from its partner. */
export interface Piece {
  text: string
  marked: boolean
}

export interface Line {
  number: number
  pieces: readonly Piece[]
}

/** Side by side: a line that stayed is on both. */
export interface Row {
  kind: 'same' | 'changed' | 'gap'
  before?: Line
  after?: Line
}

export interface Changes {
  rows: readonly Row[]
  added: number
  removed: number
}

const CONTEXT = 3
/** A comparison that takes longer is given up. */
const LONGEST_MS = 200
/** Longer lines are compared as a whole. */
const LONGEST_LINE = 600
/** Lines that share less than this are another line, not a changed one. */
const ALIKE = 0.4

/** Undefined when the texts are too long and too different to compare in time. */
export function compare(before: string, after: string): Changes | undefined {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, timeout: LONGEST_MS })
  if (!patch) return undefined
  const rows: Row[] = []
  let added = 0
  let removed = 0
  for (const hunk of patch.hunks) {
    if (hunk.oldStart > 1 || rows.length > 0) rows.push({ kind: 'gap' })
    let oldNumber = hunk.oldStart
    let newNumber = hunk.newStart
    const gone: Line[] = []
    const come: Line[] = []
    const flush = () => rows.push(...paired(gone.splice(0), come.splice(0)))
    for (const line of hunk.lines) {
      const pieces = [{ text: line.slice(1), marked: false }]
      if (line.startsWith('-')) {
        gone.push({ number: oldNumber++, pieces })
        removed++
      } else if (line.startsWith('+')) {
        come.push({ number: newNumber++, pieces })
        added++
      } else if (line.startsWith(' ')) {
        flush()
        rows.push({ kind: 'same', before: { number: oldNumber++, pieces }, after: { number: newNumber++, pieces } })
      }
    }
    flush()
  }
  return { rows, added, removed }
}

const paired = (gone: readonly Line[], come: readonly Line[]): Row[] =>
  Array.from({ length: Math.max(gone.length, come.length) }, (_, at) => {
    const [before, after] = [gone[at], come[at]]
    return { kind: 'changed', ...(before && after ? marked(before, after) : { before, after }) }
  })

const textOf = ({ pieces }: Line): string => pieces.map(({ text }) => text).join('')

function marked(before: Line, after: Line): { before: Line; after: Line } {
  const [old, now] = [textOf(before), textOf(after)]
  if (Math.max(old.length, now.length) > LONGEST_LINE) return { before, after }
  const changes = diffWordsWithSpace(old, now)
  const shared = changes.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.length), 0)
  if (shared < ALIKE * Math.max(old.length, now.length)) return { before, after }
  const side = (other: 'added' | 'removed') =>
    changes
      .filter(change => !change[other])
      .map(({ value, added, removed }) => ({ text: value, marked: added || removed }))
  return { before: { ...before, pieces: side('added') }, after: { ...after, pieces: side('removed') } }
}

/** One below the other: what went, then what came. */
export function unified(rows: readonly Row[]): Row[] {
  const lines: Row[] = []
  const come: Row[] = []
  const flush = () => lines.push(...come.splice(0))
  for (const row of rows) {
    if (row.kind !== 'changed') {
      flush()
      lines.push(row)
      continue
    }
    if (row.before) lines.push({ kind: 'changed', before: row.before })
    if (row.after) come.push({ kind: 'changed', after: row.after })
  }
  flush()
  return lines
}
