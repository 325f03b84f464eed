import { find } from './find.ts'
import { Refused } from './refused.ts'
import { nearest } from './replace.ts'
import { type Line, lineEnd, linesOf } from './text.ts'

/** What a patch does to one file. */
export type Step =
  | { type: 'add'; path: string; content: string }
  | { type: 'delete'; path: string }
  | { type: 'update'; path: string; moveTo: string | undefined; hunks: Hunk[] }

/** Lines that stay, go and come in one place. */
export interface Hunk {
  /** Lines to be found one after the other before it. */
  headers: string[]
  lines: { sign: ' ' | '-' | '+'; text: string }[]
  /** It is about the last lines of the file. */
  atEnd: boolean
}

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const AT_END = '*** End of File'
const STEP = /^\*\*\* (Add File|Update File|Delete File|Move to): (.*)$/
/** Numbers as a unified diff has them: they are not looked at. */
const COUNTED = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/

/** Reads a patch; whatever stands around it is left out. */
export function parsePatch(patch: string): Step[] {
  const lines = patch.split(/\r?\n/)
  const begin = lines.findIndex(line => line.trim() === BEGIN)
  if (begin < 0) throw new Refused(`A patch begins with a line "${BEGIN}".`)
  const end = lines.findIndex((line, index) => index > begin && line.trim() === END)
  if (end < 0)
    throw new Refused(`The patch does not end with a line "${END}": it may have been cut. Nothing was changed.`)
  const steps: Step[] = []
  for (let index = begin + 1; index < end; ) {
    const line = lines[index]!
    const [, word, path = ''] = STEP.exec(line) ?? []
    if (!word || word === 'Move to') {
      if (line.trim() !== '') throw new Refused(strange(index - begin, line, 'a file: "*** Update File: path"'))
      index += 1
      continue
    }
    if (path.trim() === '') throw new Refused(`Line ${index - begin} of the patch names no file.`)
    const next = lines.findIndex((one, at) => at > index && (at === end || (STEP.test(one) && !isMove(one))))
    steps.push(step(word, path.trim(), lines.slice(index + 1, next), index - begin + 1))
    index = next
  }
  if (steps.length === 0) throw new Refused('The patch names no file.')
  return steps
}

const isMove = (line: string): boolean => line.startsWith('*** Move to: ')

/** `at` is the number of its first line in the patch. */
function step(word: string, path: string, body: string[], at: number): Step {
  if (word === 'Update File') {
    const moveTo =
      body[0] !== undefined && isMove(body[0]) ? body.shift()!.slice('*** Move to: '.length).trim() : undefined
    const hunks = hunksOf(body, moveTo === undefined ? at : at + 1)
    if (hunks.length === 0 && !moveTo) throw new Refused(`The patch says nothing to change in ${path}.`)
    return { type: 'update', path, moveTo, hunks }
  }
  while (body.at(-1)?.trim() === '') body.pop()
  if (word === 'Delete File') {
    if (body.length > 0) throw new Refused(strange(at, body[0]!, 'another file, for this one is deleted'))
    return { type: 'delete', path }
  }
  const wrong = body.findIndex(line => !line.startsWith('+'))
  if (wrong >= 0) throw new Refused(strange(at + wrong, body[wrong]!, 'a line of the new file, after a "+"'))
  return { type: 'add', path, content: body.map(line => `${line.slice(1)}\n`).join('') }
}

function hunksOf(body: string[], at: number): Hunk[] {
  while (body.at(-1) === '') body.pop()
  const hunks: Hunk[] = []
  let current: Hunk | undefined
  const open = (): Hunk => {
    current = { headers: [], lines: [], atEnd: false }
    hunks.push(current)
    return current
  }
  body.forEach((line, index) => {
    const sign = line === '' ? ' ' : line[0]
    if (line.startsWith('@@')) {
      const hunk = current && current.lines.length === 0 ? current : open()
      const header = COUNTED.test(line) ? '' : line.slice('@@'.length).trim()
      if (header) hunk.headers.push(header)
    } else if (line.trim() === AT_END) {
      ;(current ?? open()).atEnd = true
    } else if (sign === ' ' || sign === '-' || sign === '+') {
      const hunk = current && !current.atEnd ? current : open()
      hunk.lines.push({ sign, text: line.slice(1) })
    } else throw new Refused(strange(at + index, line, '"@@", or a line after " ", "-" or "+"'))
  })
  return hunks.filter(({ lines }) => lines.length > 0)
}

const strange = (number: number, line: string, expected: string): string =>
  `Line ${number} of the patch is ${JSON.stringify(line.slice(0, 100))}; expected was ${expected}. Nothing was changed.`

/** How lines may differ from what a patch says of them, and how much that counts as guessing. */
const LENIENCE: readonly { fuzz: number; seen: (line: string) => string }[] = [
  { fuzz: 0, seen: line => line },
  { fuzz: 1, seen: line => line.trimEnd() },
  { fuzz: 100, seen: line => line.trim() },
]
/** For one that should be about the end of the file and is not. */
const NOT_AT_END = 10_000

/** A text with its hunks applied, from top to bottom. Lines that stay are the file's own, however the patch wrote them. */
export function applyHunks(path: string, content: string, hunks: readonly Hunk[]): { content: string; fuzz: number } {
  const lines = linesOf(content)
  const views = LENIENCE.map(({ fuzz, seen }) => ({ fuzz, seen, texts: lines.map(({ text }) => seen(text)) }))
  const end = lineEnd(content)
  const result: Line[] = []
  let from = 0
  let fuzz = 0
  const seek = (wanted: string[], start: number, atEnd: boolean) => {
    for (const view of views) {
      const sought = wanted.map(view.seen)
      const last = Math.max(start, lines.length - sought.length)
      const at = find(view.texts, sought, atEnd ? last : start).next().value
      if (at !== undefined) return { at, fuzz: view.fuzz }
    }
    return undefined
  }
  for (const hunk of hunks) {
    let start = from
    for (const header of hunk.headers) {
      const found = seek([header], start, false)
      if (!found) throw new Refused(lost(path, content, header, start))
      start = found.at + 1
      fuzz += found.fuzz === 100 ? 0 : found.fuzz
    }
    const old = hunk.lines.filter(({ sign }) => sign !== '+').map(({ text }) => text)
    let at = hunk.headers.length > 0 ? start : lines.length
    if (old.length > 0) {
      const anywhere = () => seek(old, start, false)
      const found = hunk.atEnd ? (seek(old, start, true) ?? penalised(anywhere())) : anywhere()
      if (!found) throw new Refused(lost(path, content, old.join('\n'), start))
      at = found.at
      fuzz += found.fuzz
    }
    result.push(...lines.slice(from, at))
    for (const { sign, text } of hunk.lines) {
      if (sign === '+') result.push({ text, end })
      else {
        if (sign === ' ') result.push(lines[at]!)
        at += 1
      }
    }
    from = at
  }
  result.push(...lines.slice(from))
  const unended = lines.at(-1)?.end === ''
  const joined = result.map((line, index) => {
    const isLast = index === result.length - 1
    return line.text + (isLast && unended ? '' : line.end || end)
  })
  return { content: joined.join(''), fuzz }
}

const penalised = <F extends { fuzz: number }>(found: F | undefined): F | undefined =>
  found && { ...found, fuzz: found.fuzz + NOT_AT_END }

function lost(path: string, content: string, wanted: string, after: number): string {
  const where = after > 0 ? ` after line ${after} (hunks go from top to bottom)` : ''
  const hint = nearest(content, wanted)
  const shown = wanted.length > 1000 ? `${wanted.slice(0, 1000).toWellFormed()}…` : wanted
  return `These lines are not in ${path}${where}, so nothing was changed:\n${shown}${hint && `\n${hint}`}`
}
