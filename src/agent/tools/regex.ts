/** A pattern as `grep -E` takes it, or why it cannot. */
export type Extended = { pattern: string; ignoreCase: boolean } | { refused: string }

const CLASSES: Record<string, string> = { d: '0-9', w: '[:alnum:]_', s: '[:space:]' }
const SPECIAL = /[.[\]{}()*+?^$|\\]/

const ONE_LINE = 'A pattern is matched against one line at a time, so it cannot hold a line break.'

class Unsupported extends Error {}

/**
 * Models write regular expressions as programming languages have them; `grep -E` is everywhere. What lines match is the same: escapes
 * such as `\d`, groups that do not capture and lazy quantifiers are put in its words, anything it cannot say is refused.
 */
export function extended(given: string): Extended {
  const ignoreCase = given.startsWith('(?i)')
  try {
    return { pattern: translate(ignoreCase ? given.slice('(?i)'.length) : given), ignoreCase }
  } catch (error) {
    if (error instanceof Unsupported) return { refused: error.message }
    throw error
  }
}

function translate(given: string): string {
  let out = ''
  for (let index = 0; index < given.length; ) {
    const rest = given.slice(index, index + 40)
    const character = given[index]!
    if (character === '\\') {
      out += escaped(given[index + 1])
      index += 2
    } else if (character === '[') {
      const [set, length] = bracket(given, index)
      out += set
      index += length
    } else if (rest.startsWith('(?:')) {
      out += '('
      index += 3
    } else if (rest.startsWith('(?')) {
      throw new Unsupported(`\`${rest.slice(0, 4)}…\` is not supported: no look-around, no named groups.`)
    } else if (character === '\n') {
      throw new Unsupported(ONE_LINE)
    } else {
      const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(rest)?.[0]
      // A brace that counts nothing stands for itself. What follows a quantifier only says how eager it is.
      out += quantifier ?? (/[{}]/.test(character) ? `\\${character}` : character)
      index += quantifier?.length ?? 1
      if (quantifier && /[?+]/.test(given[index] ?? '')) index += 1
    }
  }
  return out
}

function escaped(character: string | undefined): string {
  if (character === undefined) throw new Unsupported('The pattern ends with a single backslash.')
  const set = CLASSES[character.toLowerCase()]
  if (set) return `[${character === character.toLowerCase() ? '' : '^'}${set}]`
  if (character === 't') return '\t'
  if (/[bB1-9]/.test(character)) return `\\${character}`
  if (/[A-Za-z0]/.test(character)) throw new Unsupported(`\`\\${character}\` is not supported.`)
  return SPECIAL.test(character) ? `\\${character}` : character
}

/** A set in brackets, and how long it was. In ours a backslash is a character like others, and what is special has its place. */
function bracket(given: string, start: number): [string, number] {
  if (given.startsWith('[\\s\\S]', start)) return ['.', 6]
  const negated = given[start + 1] === '^'
  let index = start + (negated ? 2 : 1)
  let items = ''
  const placed = { ']': false, '^': false, '-': false }
  for (let first = true; given[index] !== ']' || first; first = false) {
    const character = given[index]
    if (character === undefined || character === '\n') throw new Unsupported('A `[` is not closed.')
    const named = /^\[:[a-z]+:\]/.exec(given.slice(index, index + 12))?.[0]
    if (named) {
      items += named
      index += named.length
      continue
    }
    const next = given[index + 1]
    const isRange = next === '-' && given[index + 2] !== ']' && given[index + 2] !== undefined && character !== '\\'
    if (isRange) {
      const to = given[index + 2] === '\\' ? given[index + 3] : given[index + 2]
      items += `${character}-${to}`
      index += given[index + 2] === '\\' ? 4 : 3
    } else if (character === '\\') {
      items += inSet(next, placed)
      index += 2
    } else {
      if (character === '-' || character === ']' || character === '^') placed[character] = true
      else items += character
      index += 1
    }
  }
  const set = `${placed[']'] ? ']' : ''}${items}${placed['^'] ? '^' : ''}${placed['-'] ? '-' : ''}`
  const length = index + 1 - start
  // Only line breaks were in it, which no line has.
  if (set === '' && !negated) throw new Unsupported(ONE_LINE)
  if (set === '') return ['.', length]
  return [set === '^' && !negated ? '\\^' : `[${negated ? '^' : ''}${set}]`, length]
}

function inSet(character: string | undefined, placed: { ']': boolean; '^': boolean; '-': boolean }): string {
  if (character === undefined) throw new Unsupported('A `[` is not closed.')
  if (character === ']' || character === '^' || character === '-') {
    placed[character] = true
    return ''
  }
  if (CLASSES[character]) return CLASSES[character]
  if (character === 't') return '\t'
  if (character === 'n' || character === 'r') return ''
  if (/[A-Za-z0-9]/.test(character)) throw new Unsupported(`\`\\${character}\` in brackets is not supported.`)
  return character
}
