import type { Io } from './io.ts'
import { oneLine, type Style, styleOf } from './text.ts'

const ERASE = '\r\x1b[K'
const NARROWEST = 20
/** Where nobody says how wide it is. */
const USUAL = 100

type Streams = Pick<Io, 'stdout' | 'stderr' | 'env'>

/**
 * Two streams that may be one terminal: the agent's words on standard output, what happens on standard error, and on a terminal one
 * last line that passes.
 */
export class Screen {
  readonly style: Style
  readonly #io: Streams
  /** The words so far do not end a line. */
  #open = false
  #passing = false

  constructor(io: Streams) {
    this.#io = io
    this.style = styleOf(io.stderr, io.env)
  }

  get width(): number {
    return Math.max(NARROWEST, this.#io.stderr.columns || USUAL) - 1
  }

  /** Whether words are shown as they come: then pieces of them may be given. */
  get isLive(): boolean {
    return this.#io.stdout.isTTY === true
  }

  words(text: string): void {
    if (text === '') return
    this.#erase()
    this.#io.stdout.write(text)
    this.#open = !text.endsWith('\n')
  }

  endWords(): void {
    if (this.#open) this.#io.stdout.write('\n')
    this.#open = false
  }

  line(text: string): void {
    this.#erase()
    this.endWords()
    this.#io.stderr.write(`${text}\n`)
  }

  /** Stands until something else is shown. */
  pass(text: string): void {
    if (!this.#io.stderr.isTTY || this.#open) return
    this.#erase()
    this.#io.stderr.write(this.style.dim(oneLine(text, this.width)))
    this.#passing = true
  }

  /** Before somebody else writes to the terminal. */
  settle(): void {
    this.#erase()
    this.endWords()
  }

  #erase(): void {
    if (this.#passing) this.#io.stderr.write(ERASE)
    this.#passing = false
  }
}
