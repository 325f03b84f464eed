import { ansi, echoed, expand, joined, mark, RESERVED, SPLIT } from './expand.ts'
import { type Command, plainWord, Unparsable, type Word } from './script.ts'

/** People do not nest deeper, and each level may be read twice. */
export const MOST_NESTED = 40

/** Of a word after expansion. */
const MOST_CHARACTERS = 64 * 1024

/** What is the same for all parts of one text, however deep. */
export interface Shared {
  /** Every command, those inside words too, in the order they are written. */
  commands: Command[]
  /** What was assigned before, where that could be seen. */
  variables: Map<string, string>
  depth: number
}

const END_OF_WORD = ' \t\n;&|<>()'
const BLANK = /\s+/g

/** Reads words as a shell does: quotes, escapes, expansions. Whatever it cannot follow is Unparsable. */
export abstract class Words {
  protected readonly text: string
  protected readonly shared: Shared
  protected at = 0

  constructor(text: string, shared: Shared) {
    if (RESERVED.test(text)) throw new Unparsable('It holds characters that no command has')
    this.text = text
    this.shared = shared
  }

  /** Reads commands up to the closing character, and that. */
  abstract commandsUntil(closer: string): Command[]
  /** A reader of the same kind for a part of the text. */
  protected abstract inside(text: string): Words

  private deeper<T>(work: () => T): T {
    this.shared.depth += 1
    if (this.shared.depth > MOST_NESTED) throw new Unparsable('It is nested too deeply')
    const result = work()
    this.shared.depth -= 1
    return result
  }

  protected peek(length = 1): string {
    return this.text.slice(this.at, this.at + length)
  }

  protected is(text: string): boolean {
    return this.text.startsWith(text, this.at)
  }

  protected skipBlanks(): void {
    while (this.peek() === ' ' || this.peek() === '\t' || this.is('\\\n')) this.at += this.peek() === '\\' ? 2 : 1
  }

  /** The next word; more than one when it expands to several, none when nothing but empty expansions is there. */
  protected words(): Word[] {
    return expand(this.rawWord())
  }

  /** The next word where a shell neither splits nor expands braces. */
  protected word(): Word {
    return joined(this.rawWord())
  }

  private rawWord(): Word {
    const word = plainWord('')
    while (this.at < this.text.length) {
      const character = this.peek()
      if (this.is('<(') || this.is('>(')) this.substitution(word, 2)
      else if (character === '(' && /[?*+@!\uFDD3\uFDD4]$/.test(word.text)) this.extendedGlob(word)
      else if (END_OF_WORD.includes(character)) break
      else if (!this.quotedOrExpanded(word)) {
        word.text += mark(character)
        this.at += 1
      }
    }
    return word
  }

  /** The whole text as what stands between double quotes: here-documents, defaults of parameters, arithmetic. */
  quotedWhole(): Word {
    const word = plainWord('')
    while (this.at < this.text.length) this.inQuotes(word)
    return word
  }

  private quotedOrExpanded(word: Word): boolean {
    const character = this.peek()
    if (character === '\\') this.escape(word)
    else if (character === "'") word.text += this.upTo("'", 1)
    else if (character === '"') this.doubleQuoted(word, 1)
    else if (this.is("$'")) word.text += ansi(this.ansiText())
    else if (this.is('$"')) this.doubleQuoted(word, 2)
    else if (character === '$') this.expansion(word, false)
    else if (character === '`') this.backquoted(word, false)
    else return false
    if (`\\'"`.includes(character)) word.quoted = true
    return true
  }

  private escape(word: Word): void {
    if (this.at + 1 >= this.text.length) throw new Unparsable('It ends in the middle')
    if (this.text[this.at + 1] !== '\n') word.text += this.text[this.at + 1]
    this.at += 2
  }

  private upTo(closer: string, skip: number): string {
    const start = this.at + skip
    const end = this.text.indexOf(closer, start)
    if (end < 0) throw new Unparsable('A quote is not closed')
    this.at = end + closer.length
    return this.text.slice(start, end)
  }

  private ansiText(): string {
    const start = this.at + 2
    let end = start
    while (end < this.text.length && this.text[end] !== "'") end += this.text[end] === '\\' ? 2 : 1
    if (end >= this.text.length) throw new Unparsable('A quote is not closed')
    this.at = end + 1
    return this.text.slice(start, end)
  }

  private doubleQuoted(word: Word, skip: number): void {
    this.at += skip
    while (this.peek() !== '"') {
      if (this.at >= this.text.length) throw new Unparsable('A quote is not closed')
      this.inQuotes(word)
    }
    this.at += 1
    word.quoted = true
  }

  private inQuotes(word: Word): void {
    const character = this.peek()
    if (character === '$') this.expansion(word, true)
    else if (character === '`') this.backquoted(word, true)
    else if (character === '\\' && /[$`"\\\n]/.test(this.text[this.at + 1] ?? '')) this.escape(word)
    else {
      word.text += character
      this.at += 1
    }
  }

  private expansion(word: Word, quoted: boolean): void {
    if (this.is('$((') && this.arithmetic(word, 3)) return
    if (this.is('$(')) this.substitution(word, 2, quoted)
    else if (/^\$\{[\s|]/.test(this.peek(3))) this.substitution(word, 2, quoted, '}')
    else if (this.is('${')) this.parameter(word, quoted)
    else {
      const [, name] = /^\$([A-Za-z_]\w{0,200}|[\d@*#?$!-])/.exec(this.peek(202)) ?? []
      this.at += 1 + (name?.length ?? 0)
      if (name === undefined) word.text += '$'
      else this.variable(word, name, quoted)
    }
  }

  private variable(word: Word, name: string, quoted: boolean, whole = false): void {
    const assigned = this.shared.variables.get(name)
    if (assigned === undefined && name === 'IFS') {
      word.text += quoted ? ' ' : SPLIT
      return
    }
    const value = assigned ?? { HOME: '~', PWD: '.', TMPDIR: '/tmp', SHELL: 'sh', BASH: 'sh', '0': 'sh' }[name]
    word.variables.push(name)
    word.unknown ||= assigned !== undefined || value === undefined
    const splits = whole || !quoted
    if (word.text.length > MOST_CHARACTERS) throw new Unparsable('A word becomes too long')
    word.text += splits ? (value ?? '').replace(BLANK, SPLIT) : (value ?? '')
  }

  /** `${…}`. The default or replacement in it may be what it becomes, and may run commands. */
  private parameter(word: Word, quoted: boolean): void {
    const body = this.braced()
    const [, name = '', rest = ''] = /^([A-Za-z_]\w*|[\d@*#?$!-])?([\s\S]*)$/.exec(body) ?? []
    const whole = /^\[[@*]\]$/.test(rest)
    if (name && (rest === '' || whole)) {
      this.variable(word, name, quoted, whole)
      return
    }
    const [, operator = '', other = rest] = /^(:?[-=+?])([\s\S]*)$/.exec(rest) ?? []
    const inner = this.deeper(() => this.inside(other).quotedWhole())
    const value = operator ? inner.text || this.shared.variables.get(name) : undefined
    word.text += quoted ? (value ?? '') : (value ?? '').replace(BLANK, SPLIT)
    word.unknown = true
    word.variables.push(name, ...inner.variables)
    word.inner.push(...inner.inner)
  }

  private braced(): string {
    const start = this.at + 2
    let depth = 1
    let at = start
    for (; at < this.text.length && depth > 0; at++) {
      const character = this.text[at]
      if (character === '\\') at += 1
      else if (character === '{') depth += 1
      else if (character === '}') depth -= 1
    }
    if (depth > 0) throw new Unparsable('A brace is not closed')
    this.at = at
    return this.text.slice(start, at - 1)
  }

  /** False when it is not arithmetic after all but a subshell in a substitution. */
  protected arithmetic(word: Word, skip: number): boolean {
    let depth = 2
    let at = this.at + skip
    for (; at < this.text.length && depth > 0; at++) {
      if (this.text[at] === '(') depth += 1
      if (this.text[at] === ')') depth -= 1
    }
    if (depth > 0 || this.text[at - 2] !== ')') return false
    const body = this.text.slice(this.at + skip, at - 2)
    const inner = this.deeper(() => this.inside(body).quotedWhole())
    word.inner.push(...inner.inner)
    word.unknown = true
    this.at = at
    return true
  }

  private substitution(word: Word, skip: number, quoted = true, closer = ')'): void {
    this.at += skip
    this.becomes(
      word,
      this.deeper(() => this.commandsUntil(closer)),
      quoted,
    )
  }

  private backquoted(word: Word, quoted: boolean): void {
    let end = this.at + 1
    while (end < this.text.length && this.text[end] !== '`') end += this.text[end] === '\\' ? 2 : 1
    if (end >= this.text.length) throw new Unparsable('A backquote is not closed')
    const text = this.text.slice(this.at + 1, end).replace(/\\([`$\\])/g, '$1')
    this.at = end + 1
    this.becomes(
      word,
      this.deeper(() => this.inside(text).commandsUntil('')),
      quoted,
    )
  }

  /** What a substitution writes is known only when all it does is to echo. */
  private becomes(word: Word, inner: Command[], quoted: boolean): void {
    const [first, ...more] = inner
    const value = (more.length === 0 && first && echoed(first.words)) || ''
    word.text += quoted ? value : value.replace(BLANK, SPLIT)
    word.unknown = true
    word.inner.push(...inner)
  }

  private extendedGlob(word: Word): void {
    const start = this.at
    for (let depth = 0; this.at < this.text.length; this.at++) {
      if (this.peek() === '(') depth += 1
      if (this.peek() === ')' && --depth === 0) {
        this.at += 1
        word.text += this.text.slice(start, this.at)
        word.glob = true
        return
      }
    }
    throw new Unparsable('A pattern is not closed')
  }
}
