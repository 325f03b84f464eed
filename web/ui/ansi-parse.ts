/** A stretch of text in one look. */
export interface Stretch {
  text: string
  /** Names of looks, and of the sixteen colours: `bold`, `fg-2`, `bg-9`. */
  looks: readonly string[]
  /** Of the many other colours: `rgb(…)`. */
  colour?: string
  ground?: string
}

interface Pen {
  looks: ReadonlySet<string>
  fg?: string
  bg?: string
}

const PLAIN: Pen = { looks: new Set() }
const LOOKS: Record<number, string> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse', 9: 'struck' }
const ENDS: Record<number, readonly string[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['struck'],
}

const ESC = '\u001b'
/** Of a colour, of anything else that steers a terminal, of a title or a link, or of an alphabet. */
const CODES = new RegExp(
  `${ESC}(?:\\[([0-?]*)[ -/]*([@-~])|\\][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\)?|[PX^_][^${ESC}]*(?:${ESC}\\\\)?|[()][0-9A-Za-z]|[@-Z\\\\=>78])`,
  'g',
)
/** Nothing of these can be seen. */
const UNSEEN = /[\p{Cc}--[\n\t]]/gv

/** What is left to read: lines that were overwritten, as progress is shown, as they were last. */
const settled = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(line => line.split('\r').findLast(part => part !== '') ?? '')
    .join('\n')

/** Text alone, without any look. */
export const plainText = (text: string): string => settled(text).replace(CODES, '').replace(UNSEEN, '')

export function parseAnsi(text: string): Stretch[] {
  const stretches: Stretch[] = []
  let pen = PLAIN
  let at = 0
  const add = (piece: string) => {
    const seen = piece.replace(UNSEEN, '')
    if (seen) stretches.push(stretchOf(seen, pen))
  }
  const whole = settled(text)
  for (const match of whole.matchAll(CODES)) {
    add(whole.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') pen = drawnWith(pen, match[1] ?? '')
  }
  add(whole.slice(at))
  return stretches
}

function stretchOf(text: string, { looks, fg, bg }: Pen): Stretch {
  const named = [...looks]
  if (fg && !fg.startsWith('rgb')) named.push(`fg-${fg}`)
  if (bg && !bg.startsWith('rgb')) named.push(`bg-${bg}`)
  return {
    text,
    looks: named,
    ...(fg?.startsWith('rgb') && { colour: fg }),
    ...(bg?.startsWith('rgb') && { ground: bg }),
  }
}

function drawnWith(pen: Pen, parameters: string): Pen {
  const codes = parameters.split(/[;:]/).map(Number)
  let { looks, fg, bg } = pen
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!
    if (code === 0) [looks, fg, bg] = [PLAIN.looks, undefined, undefined]
    else if (LOOKS[code]) looks = looks.union(new Set([LOOKS[code]]))
    else if (ENDS[code]) looks = looks.difference(new Set(ENDS[code]))
    else if (code === 39) fg = undefined
    else if (code === 49) bg = undefined
    else if (code === 38 || code === 48) {
      const isIndexed = codes[at + 1] === 5
      const colour = isIndexed ? indexed(codes[at + 2] ?? 0) : rgb(codes.slice(at + 2, at + 5))
      if (code === 38) fg = colour
      else bg = colour
      at += isIndexed ? 2 : 4
    } else if (code >= 30 && code <= 37) fg = String(code - 30)
    else if (code >= 40 && code <= 47) bg = String(code - 40)
    else if (code >= 90 && code <= 97) fg = String(code - 82)
    else if (code >= 100 && code <= 107) bg = String(code - 92)
  }
  return { looks, fg, bg }
}

const rgb = (parts: readonly number[]): string =>
  `rgb(${[0, 1, 2].map(at => Math.min(255, Math.trunc(parts[at] ?? 0) || 0)).join(' ')})`

/** Sixteen named ones, a cube of 6 by 6 by 6, and greys. */
function indexed(n: number): string {
  if (n < 16) return String(n)
  if (n >= 232) return rgb(Array(3).fill(8 + (n - 232) * 10))
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40)
  const cube = n - 16
  return rgb([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)])
}
