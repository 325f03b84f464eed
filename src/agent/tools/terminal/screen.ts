import { LINE_CHARS } from './limits.ts'

/** Longer ones are no sequences but rubbish that began like one. */
const SEQUENCE_CHARS = 2_048

const sticky = (pattern: string): RegExp => new RegExp(pattern, 'y')
const PLAIN = sticky('[^\\0-\\x08\\x0a-\\x1f\\x7f-\\x9f]+')
const SPECIAL = /(?![\n\t])\p{Cc}/gu
const CONTROL_SEQUENCE = sticky('\\x1b\\[([0-9;:<=>?]*)[ -/]*([@-~])')
const STRING = sticky(`\\x1b[\\]PX^_][^\\0-\\x1f]{0,${SEQUENCE_CHARS}}(?:\\x07|\\x1b\\\\)`)
const ESCAPE = sticky('\\x1b[ -/]*[0-OQ-WYZ\\\\`-~]')
const UNFINISHED = sticky('\\x1b(?:\\[[0-9;:<=>?]*[ -/]*|[\\]PX^_][^\\0-\\x1f]*\\x1b?|[ -/]*)$')

/**
 * Output as a person would read it from a terminal: one line at a time, overwritten by carriage returns and backspaces, without
 * colours and the like. What moves about a whole screen becomes lines in the order they were drawn.
 */
export class Screen {
  #line = ''
  #column = 0
  #unfinished = ''

  /** The lines that this finishes. */
  write(text: string): string {
    const all = this.#unfinished + text
    this.#unfinished = ''
    let done = ''
    let at = 0
    const next = (pattern: RegExp) => {
      pattern.lastIndex = at
      const match = pattern.exec(all)
      if (match) at = pattern.lastIndex
      return match
    }
    while (at < all.length) {
      const end = this.#column === this.#line.length ? plainLinesEnd(all, at) : at
      if (end > at) {
        done += this.#line + all.slice(at, end)
        this.#clear()
        at = end
        continue
      }
      const plain = next(PLAIN)
      if (plain) this.#put(plain[0])
      else if (all[at] === '\x1b') {
        const sequence = next(CONTROL_SEQUENCE)
        if (sequence) done += this.#obey(sequence[2]!, Number.parseInt(sequence[1]!, 10))
        else if (!next(STRING) && !next(ESCAPE)) {
          const rest = next(UNFINISHED)?.[0]
          if (rest === undefined || rest.length > SEQUENCE_CHARS) at += 1
          else this.#unfinished = rest
        }
      } else {
        done += this.#control(all[at]!)
        at += 1
      }
      if (this.#line.length > LINE_CHARS) done += this.#take()
    }
    return done
  }

  /** What there is of the line under way. */
  flush(): string {
    this.#unfinished = ''
    return this.#take()
  }

  #control(char: string): string {
    if (char === '\r') this.#column = 0
    else if (char === '\b') this.#column = Math.max(0, this.#column - 1)
    else if (char === '\n' || char === '\v' || char === '\f') return `${this.#take()}\n`
    return ''
  }

  #obey(command: string, count: number): string {
    const steps = count || 1
    if (command === 'K') this.#erase(count || 0)
    else if (command === 'C') this.#column = Math.min(this.#column + steps, LINE_CHARS)
    else if (command === 'D') this.#column = Math.max(0, this.#column - steps)
    else if (command === 'G') this.#column = Math.min(steps - 1, LINE_CHARS)
    else if ('ABEFHfd'.includes(command) && this.#line.trim() !== '') return `${this.#take()}\n`
    else if ('ABEFHfd'.includes(command)) this.#clear()
    return ''
  }

  #erase(what: number): void {
    if (what === 0) this.#line = this.#line.slice(0, this.#column)
    else if (what === 1) this.#line = ' '.repeat(this.#column) + this.#line.slice(this.#column)
    else this.#line = ''
  }

  #put(text: string): void {
    const before = this.#line.slice(0, this.#column).padEnd(this.#column)
    this.#line = before + text + this.#line.slice(this.#column + text.length)
    this.#column += text.length
  }

  #take(): string {
    const line = this.#line
    this.#clear()
    return line
  }

  #clear(): void {
    this.#line = ''
    this.#column = 0
  }
}

/** Where whole lines without anything to obey end: most output is nothing else. */
function plainLinesEnd(text: string, from: number): number {
  SPECIAL.lastIndex = from
  const plain = text.slice(from, SPECIAL.exec(text)?.index ?? text.length)
  return from + plain.lastIndexOf('\n') + 1
}
