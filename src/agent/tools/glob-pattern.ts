/** More than anybody means: both multiply what it costs to match. */
const PATTERN_CHARACTERS = 500
const ALTERNATIVES = 50

/** Says whether a path below some folder matches. */
export type Matches = (path: string) => boolean

/**
 * `*` and `?` within a name, `[a-z]` and `[!a-z]`, `{a,b}`, and `**` as a whole name for any number of folders. A leading dot is a
 * character like others. The time is bounded by pattern times path whatever is in them: neither is ours. Undefined when it is
 * too long or its braces come to too many.
 */
export function globPattern(pattern: string): Matches | undefined {
  const alternatives = pattern.length > PATTERN_CHARACTERS ? undefined : expand(pattern)
  if (!alternatives) return undefined
  const compiled = alternatives.map(one => one.split('/').filter(Boolean).map(compileName))
  return path => {
    const names = path.split('/').map(name => [...name])
    return compiled.some(parts => matchAll(parts, names, part => part === '**', matchName))
  }
}

/** Where the pattern begins to vary: the folders before it, and the rest. */
export function splitBase(pattern: string): { base: string; rest: string } {
  const names = pattern.split('/')
  const varies = names.findIndex(name => /[*?[\]{}\\]/.test(name))
  const at = varies < 0 ? names.length - 1 : varies
  const base = names.slice(0, at).join('/')
  return { base: base === '' && pattern.startsWith('/') ? '/' : base, rest: names.slice(at).join('/') }
}

type Token = '*' | ((character: string) => boolean)
type Part = '**' | Token[]

const matchName = (part: Part, name: string[]): boolean =>
  part !== '**' &&
  matchAll(
    part,
    name,
    token => token === '*',
    (token, character) => token !== '*' && token(character),
  )

/** Whether items match a pattern of single ones and of wild ones that take any number: the set of places reached so far moves on with each item. */
function matchAll<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  wild: (part: P) => boolean,
  one: (part: P, item: T) => boolean,
) {
  const passWild = (places: boolean[]) => {
    pattern.forEach((part, index) => {
      if (places[index] && wild(part)) places[index + 1] = true
    })
    return places
  }
  let places = passWild([true])
  for (const item of items) {
    if (places.length === 0) return false
    const next: boolean[] = []
    pattern.forEach((part, index) => {
      if (!places[index]) return
      if (wild(part)) next[index] = true
      else if (one(part, item)) next[index + 1] = true
    })
    places = passWild(next)
  }
  return places[pattern.length] === true
}

function compileName(name: string): Part {
  if (name === '**') return '**'
  const tokens: Token[] = []
  const characters = [...name]
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index]!
    const close = character === '[' ? closing(characters, index) : -1
    if (character === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*')
    } else if (character === '?') tokens.push(() => true)
    else if (close > 0) {
      tokens.push(characterClass(characters.slice(index + 1, close)))
      index = close
    } else if (character === '\\' && index + 1 < characters.length) {
      const literal = characters[++index]!
      tokens.push(one => one === literal)
    } else tokens.push(one => one === character)
  }
  return tokens
}

/** A bracket that closes nothing, and one that is closed by none, stand for themselves; right after the opening one too. */
const closing = (characters: string[], open: number): number =>
  characters.indexOf(']', open + (/[!^]/.test(characters[open + 1] ?? '') ? 3 : 2))

function characterClass(inside: string[]): (character: string) => boolean {
  const negated = inside[0] === '!' || inside[0] === '^'
  const ranges: [string, string][] = []
  for (let index = negated ? 1 : 0; index < inside.length; index += 1) {
    const isRange = inside[index + 1] === '-' && index + 2 < inside.length
    ranges.push([inside[index]!, inside[isRange ? index + 2 : index]!])
    if (isRange) index += 2
  }
  return character => ranges.some(([from, to]) => character >= from && character <= to) !== negated
}

/** Without braces; undefined when they come to too many. Braces without a comma, or unbalanced, stand for themselves. */
function expand(pattern: string): string[] | undefined {
  let done: string[] = []
  const open = [pattern]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const brace = innermost(one)
    if (!brace) done = [...done, one]
    else for (const word of brace.words) open.push(`${brace.before}${word}${brace.after}`)
    if (open.length + done.length > ALTERNATIVES) return undefined
  }
  return done
}

function innermost(pattern: string): { before: string; words: string[]; after: string } | undefined {
  const match = /\{([^{}]*,[^{}]*)\}/.exec(pattern)
  if (!match) return undefined
  const after = pattern.slice(match.index + match[0].length)
  return { before: pattern.slice(0, match.index), words: match[1]!.split(','), after }
}
