/** Nothing that a tool takes nests deeper, and what does would overflow the stack of those who read it. */
const DEPTH = 64
/** A model that encodes its JSON as a string does so once or twice. */
const ENCODINGS = 3

/** The text cannot be read with certainty. The message says why, for the model. */
export class Unreadable extends Error {
  constructor(message: string) {
    super(message.toWellFormed())
  }
}

/**
 * Reads what a model wrote as a JSON object, where what it meant is beyond doubt: raw line breaks in strings, trailing commas, Python's
 * quotes and literals, bare keys, a code fence around it, JSON in a string, the same object twice. Whatever ends too soon is refused,
 * be it by one brace: nobody can tell what is missing. Linear in the length of the text.
 */
export function readObject(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  let value = read(text)
  for (let i = 0; i < ENCODINGS && typeof value === 'string' && /^\s*["{[]/.test(value); i++) value = read(value)
  if (Array.isArray(value) && value.length === 1) value = value[0]
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw new Unreadable(`they are ${nameOf(value)}`)
  return sound(value) as Record<string, unknown>
}

/** Any value, read as freely. */
export const readValue = (text: string): unknown => sound(read(text))

const nameOf = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : typeof value === 'string' ? 'a string' : `the ${typeof value} ${value}`

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return new Reader(text).whole()
  }
}

/** The same with well-formed strings. Refuses what JSON cannot say again. */
function sound(value: unknown, depth = 0): unknown {
  if (depth > DEPTH) throw new Unreadable(`they nest deeper than ${DEPTH} levels`)
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Unreadable('a number in them is too large')
  if (Array.isArray(value)) return value.map(one => sound(one, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), sound(one, depth + 1)]))
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
const LITERALS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
])
const OPENING = /[\s\uFEFF]*(?:```\w*)?/y
/** What stands behind a finished object and adds nothing: brackets too many, the end of a fence, tags and control tokens. */
const CLOSING = /[\]};]|```|<\/?[\w:.=-]{1,64}>|<\|[^|>]{1,64}\|>/y
const WORD = /[A-Za-z_$][\w$-]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const SPECIAL = { '"': /["\\]/g, "'": /['\\]/g }

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): unknown {
    this.#take(OPENING)
    let value = this.#value(0)
    let said = JSON.stringify(value)
    while (this.#more()) {
      if (this.#take(CLOSING)) continue
      if (this.#text[this.#at] !== '{') throw this.#odd('something else follows')
      const next = this.#value(0)
      const again = JSON.stringify(next)
      if (again === said || again === '{}') continue
      if (said !== '{}') throw new Unreadable('they hold several objects; make one call for each')
      value = next
      said = again
    }
    return value
  }

  #value(depth: number): unknown {
    if (depth > DEPTH) throw new Unreadable(`they nest deeper than ${DEPTH} levels`)
    const first = this.#next()
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"' || first === "'") return this.#string(first)
    const number = this.#take(NUMBER)
    if (number) return Number(number)
    const word = this.#take(WORD)
    if (word === undefined) throw this.#odd('a value is missing')
    if (LITERALS.has(word)) return LITERALS.get(word)
    if (this.#at === this.#text.length) throw cut()
    throw this.#odd(`'${word.slice(0, 40)}' is no JSON value`)
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = []
    this.#at++
    while (this.#next() !== '}') {
      const quote = this.#text[this.#at]
      const key = quote === '"' || quote === "'" ? this.#string(quote) : this.#take(WORD)
      if (key === undefined) throw this.#odd('a name is missing')
      if (this.#next() !== ':') throw this.#odd(`a colon is missing after '${key.slice(0, 40)}'`)
      this.#at++
      entries.push([key, this.#value(depth + 1)])
      this.#comma('}')
    }
    this.#at++
    return Object.fromEntries(entries)
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at++
    while (this.#next() !== ']') {
      items.push(this.#value(depth + 1))
      this.#comma(']')
    }
    this.#at++
    return items
  }

  #comma(end: '}' | ']'): void {
    const found = this.#next()
    if (found === ',') this.#at++
    else if (found !== end) throw this.#odd('a comma or the end is missing')
  }

  /** Escapes that are none are not guessed at: `\d` may mean `d` or `\\d`. */
  #string(quote: '"' | "'"): string {
    const parts: string[] = []
    const special = SPECIAL[quote]
    for (let from = ++this.#at; ; from = this.#at) {
      special.lastIndex = from
      const found = special.exec(this.#text)
      if (!found) throw cut()
      parts.push(this.#text.slice(from, found.index))
      this.#at = found.index + 1
      if (found[0] === quote) return parts.join('')
      parts.push(this.#escaped(quote))
    }
  }

  #escaped(quote: '"' | "'"): string {
    const letter = this.#text[this.#at]
    if (letter === undefined) throw cut()
    const hex = letter === 'u' ? 4 : letter === 'x' && quote === "'" ? 2 : 0
    if (hex > 0) {
      const digits = this.#text.slice(this.#at + 1, this.#at + 1 + hex)
      if (digits.length < hex) throw cut()
      if (!/^[0-9a-fA-F]+$/.test(digits)) throw this.#odd('an escape is wrong')
      this.#at += 1 + hex
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    const meant = letter === quote ? letter : ESCAPES[letter]
    if (meant === undefined) throw this.#odd(`\\${letter} is no escape; write \\\\ for a backslash`)
    this.#at++
    return meant
  }

  #more(): boolean {
    while (this.#text.charCodeAt(this.#at) <= 0x20) this.#at++
    return this.#at < this.#text.length
  }

  /** The next character that is no space, or a control character, which stands for nothing here. */
  #next(): string {
    if (!this.#more()) throw cut()
    return this.#text[this.#at]!
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found) this.#at += found.length
    return found || undefined
  }

  #odd(what: string): Unreadable {
    return new Unreadable(`${what} at character ${this.#at}`)
  }
}

const cut = (): Unreadable =>
  new Unreadable('they end too soon. Send the call again, with long content in several smaller pieces')
