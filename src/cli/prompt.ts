import { createInterface, type Interface } from 'node:readline'
import type { Io } from './io.ts'

/** Whether there is somebody to ask. */
export const canAsk = ({ stdin, stderr }: Io): boolean => stdin.isTTY === true && stderr.isTTY === true

/** Lines from standard input, asked for one by one. */
export class Prompt implements Disposable {
  readonly #lines: Interface
  readonly #isTerminal: boolean
  readonly #terminal: Io['stderr']
  /** What came before it was asked for. */
  readonly #early: string[] = []
  #wanted: ((line: string | undefined) => void) | undefined
  #ended = false
  /** On a terminal: what is to be done with a line that nobody asked for. */
  unasked: ((line: string) => void) | undefined

  constructor(io: Io) {
    this.#isTerminal = canAsk(io)
    this.#terminal = io.stderr
    const terminal = this.#isTerminal
    this.#lines = createInterface({ input: io.stdin, terminal, ...(terminal && { output: io.stderr }) })
    this.#lines.on('line', line => this.#heard(line))
    this.#lines.on('SIGINT', () => io.raise('SIGINT'))
    this.#lines.on('close', () => {
      this.#ended = true
      this.#give(undefined)
    })
  }

  /** Undefined when there is nobody any more, or when it was aborted. */
  async ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
    const early = this.#early.shift()
    if (early !== undefined || this.#ended || signal?.aborted) return early
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    const leave = () => this.#give(undefined)
    this.#wanted = resolve
    signal?.addEventListener('abort', leave)
    if (this.#isTerminal) {
      this.#lines.setPrompt(question)
      this.#lines.prompt()
    }
    const line = await promise
    signal?.removeEventListener('abort', leave)
    return line
  }

  /** Says something in between, and asks what was asked once more. */
  remark(text: string): void {
    this.#terminal.write(this.#isTerminal && this.#wanted ? `\n${text}\n` : `${text}\n`)
    if (this.#isTerminal && this.#wanted) this.#lines.prompt(true)
  }

  [Symbol.dispose](): void {
    this.#lines.close()
  }

  /** To whoever asked, once: several lines may come in the same moment. A question left unanswered does not share its line. */
  #give(line: string | undefined): void {
    const wanted = this.#wanted
    this.#wanted = undefined
    if (wanted && line === undefined && this.#isTerminal) this.#terminal.write('\n')
    wanted?.(line)
  }

  #heard(line: string): void {
    if (this.#wanted) this.#give(line)
    else if (this.#isTerminal && this.unasked) this.unasked(line)
    else this.#early.push(line)
  }
}
