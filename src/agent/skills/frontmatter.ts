export type Field = string | Field[] | { [key: string]: Field }
export type Fields = Record<string, Field>

/** The head of a file is written in a way that is not read here. The message says where and what. */
export class Unreadable extends Error {}

/** What people write by hand; more is an attempt to keep us busy. */
const LINES = 400
const DEPTH = 6

/**
 * The head of a Markdown file, between two lines of `---`, and what follows it. Of YAML it takes what such heads are written with:
 * maps and lists by indentation, lists in brackets, quoted and plain text, blocks after `|` and `>`. Every scalar is text. Whatever
 * could refer to, expand to or construct something else is Unreadable.
 */
export function readFrontmatter(text: string): { fields: Fields; body: string } {
  const lines = text
    .replace(/^\ufeff/, '')
    .replaceAll('\r\n', '\n')
    .split('\n')
  if (lines[0]?.trimEnd() !== '---') return { fields: {}, body: lines.join('\n') }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---')
  if (end < 0) throw new Unreadable('The frontmatter has no end: a line of --- is missing')
  if (end > LINES) throw new Unreadable(`The frontmatter is longer than ${LINES} lines`)
  const body = lines.slice(end + 1).join('\n')
  return { fields: new Reader(lines.slice(1, end)).document(), body: body.replace(/^\n+/, '') }
}

interface Line {
  indent: number
  text: string
}

const PAIR = /^([\w./@-]+|"[^"\\]*"|'[^']*')\s*:(?:\s+(.*))?$/
const DASH = /^-(?:\s+|$)/
const BLOCK = /^([|>])[+-]?\s*(?:#.*)?$/
const DOUBLE = /^"(?:[^"\\]|\\.)*"/
const SINGLE = /^'(?:[^']|'')*'/

class Reader {
  readonly #lines: string[]
  #at = 0

  constructor(lines: string[]) {
    this.#lines = lines
  }

  document(): Fields {
    const first = this.#peek()
    return first ? this.#map(first.indent, 0) : {}
  }

  /** The next line that says something. */
  #peek(): Line | undefined {
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!
      const text = line.trim()
      if (text === '' || text.startsWith('#')) continue
      const indent = line.length - line.trimStart().length
      if (line.slice(0, indent).includes('\t')) throw this.#unreadable('a tab stands where spaces belong')
      return { indent, text }
    }
    return undefined
  }

  #map(indent: number, depth: number): Fields {
    if (depth > DEPTH) throw this.#unreadable('it is nested too deep')
    const entries = new Map<string, Field>()
    for (let line = this.#peek(); line && line.indent >= indent; line = this.#peek()) {
      const pair = line.indent === indent ? PAIR.exec(line.text) : null
      if (!pair) throw this.#unreadable('a `name: value` is expected')
      const key = pair[1]!.replace(/^["']|["']$/g, '')
      if (entries.has(key)) throw this.#unreadable(`${key} stands there twice`)
      this.#at++
      entries.set(key, this.#value(pair[2] ?? '', indent, depth, true))
    }
    return Object.fromEntries(entries)
  }

  #list(indent: number, depth: number): Field[] {
    if (depth > DEPTH) throw this.#unreadable('it is nested too deep')
    const items: Field[] = []
    for (let line = this.#peek(); line && line.indent === indent; line = this.#peek()) {
      const dash = DASH.exec(line.text)
      if (!dash) break
      const rest = line.text.slice(dash[0].length)
      if (PAIR.test(rest)) {
        const inner = indent + dash[0].length
        this.#lines[this.#at] = ' '.repeat(inner) + rest
        items.push(this.#map(inner, depth + 1))
      } else {
        this.#at++
        items.push(this.#value(rest, indent, depth, false))
      }
    }
    return items
  }

  /** What belongs to a name or a dash at this indentation; `rest` stands beside it. A list may start right below its name. */
  #value(rest: string, indent: number, depth: number, named: boolean): Field {
    const text = rest.startsWith('#') ? '' : rest.trim()
    if (text === '') {
      const next = this.#peek()
      if (next && DASH.test(next.text) && (next.indent > indent || (named && next.indent === indent)))
        return this.#list(next.indent, depth + 1)
      return next && next.indent > indent ? this.#map(next.indent, depth + 1) : ''
    }
    const block = BLOCK.exec(text)
    if (block) return this.#block(indent, block[1] === '>')
    if (text.startsWith('[')) return this.#inline(text)
    if (text === '{}') return {}
    if (/^[{&*!%@`]/.test(text)) throw this.#unreadable(`${text[0]} has no meaning here: put the text in quotes`, -1)
    if (/^["']/.test(text)) return this.#quoted(text)
    const parts = [text.replace(/\s#.*$/, '').trimEnd()]
    for (let line = this.#peek(); line && line.indent > indent; line = this.#peek()) {
      parts.push(line.text)
      this.#at++
    }
    return parts.join(' ')
  }

  #block(indent: number, folded: boolean): string {
    const lines: string[] = []
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!
      if (line.trim() !== '' && line.length - line.trimStart().length <= indent) break
      lines.push(line)
    }
    const written = lines.filter(line => line.trim() !== '')
    const margin = Math.min(...written.map(line => line.length - line.trimStart().length))
    const text = lines.map(line => line.slice(margin)).join('\n')
    return (folded ? text.replace(/([^\n])\n(?!\n)/g, '$1 ').replaceAll('\n\n', '\n') : text).trim()
  }

  #inline(text: string): string[] {
    const items: string[] = []
    let rest = text.slice(1).trimStart()
    while (!rest.startsWith(']')) {
      const item = DOUBLE.exec(rest)?.[0] ?? SINGLE.exec(rest)?.[0] ?? /^[^,[\]{}"']+/.exec(rest)?.[0]
      if (item === undefined)
        throw this.#unreadable('this list in brackets is not plain, or does not end on its line', -1)
      items.push(/^["']/.test(item) ? this.#quoted(item) : item.trim())
      rest = rest.slice(item.length).trimStart()
      if (rest.startsWith(',')) rest = rest.slice(1).trimStart()
      else if (!rest.startsWith(']')) throw this.#unreadable('a comma or ] is missing', -1)
    }
    if (!/^\]\s*(#.*)?$/.test(rest)) throw this.#unreadable('something follows the ]', -1)
    return items
  }

  #quoted(text: string): string {
    const found = DOUBLE.exec(text)?.[0] ?? SINGLE.exec(text)?.[0]
    if (found === undefined || !/^\s*(#.*)?$/.test(text.slice(found.length)))
      throw this.#unreadable('a quotation mark is missing, or something follows it', -1)
    if (found.startsWith("'")) return found.slice(1, -1).replaceAll("''", "'")
    try {
      return JSON.parse(found)
    } catch {
      throw this.#unreadable('an escape in quotation marks is not known', -1)
    }
  }

  /** `offset` is -1 once the line has been passed. The first line of the file is the `---`. */
  #unreadable(what: string, offset = 0): Unreadable {
    return new Unreadable(`Line ${this.#at + offset + 2}: ${what}`)
  }
}
