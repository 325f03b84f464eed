import { write } from 'node:fs'

/** Text that may wait for a reader that does not read. Past it lines are dropped, and counted. */
const WAITING_CHARACTERS = 1024 * 1024
/** How soon to try again when the descriptor says "not now". */
const AGAIN_MS = 10

/**
 * Writes lines to a file descriptor without making anybody wait. Node's own standard streams block the whole process
 * on a full pipe; here a reader that stops reading costs lines, not the server.
 */
export class Lines {
  readonly #fd: number
  #waiting = ''
  #dropped = 0
  #writing: Promise<void> | undefined

  constructor(fd: number) {
    this.#fd = fd
  }

  write(line: string): void {
    if (this.#waiting.length > WAITING_CHARACTERS) {
      this.#dropped += 1
      return
    }
    this.#waiting += `${line}\n`
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined
    })
  }

  /** Resolves when what was written so far is out. */
  async flush(): Promise<void> {
    await this.#writing
  }

  async #drain(): Promise<void> {
    // A tick's lines go out together.
    await new Promise(setImmediate)
    while (this.#waiting) {
      const text = this.#waiting
      this.#waiting = this.#dropped > 0 ? `${JSON.stringify({ message: 'lines dropped', count: this.#dropped })}\n` : ''
      this.#dropped = 0
      await writeAll(this.#fd, Buffer.from(text))
    }
  }
}

/** Gives up silently when nobody is there any more. */
function writeAll(fd: number, bytes: Buffer): Promise<void> {
  return new Promise(resolve => {
    const next = (from: number): void =>
      write(fd, bytes, from, (error, written) => {
        if (error?.code === 'EAGAIN') setTimeout(next, AGAIN_MS, from)
        else if (error || from + written >= bytes.length) resolve()
        else next(from + written)
      })
    next(0)
  })
}
