import { StringDecoder } from 'node:string_decoder'
import { HEAD_CHARS, TAIL_CHARS } from './limits.ts'
import { Screen } from './screen.ts'
import type { StoredOutput } from './stored-output.ts'

const READ_CHARS = HEAD_CHARS + TAIL_CHARS

/** An output, as far as a model reads it. */
export interface Captured {
  text: string
  /** The file in the sandbox that has all of it, when some was left out. */
  file: string | undefined
}

/** What was printed during one call: its beginning and its end, and all of it in a file when that is much. */
export class Capture {
  readonly #store: () => StoredOutput
  readonly #decoder = new StringDecoder('utf8')
  readonly #screen = new Screen()
  readonly #raw: Buffer[] = []
  #bytes = 0
  #stored: StoredOutput | undefined
  #head = ''
  #tail = ''
  #chars = 0

  constructor(store: () => StoredOutput) {
    this.#store = store
  }

  /** Resolves when more can be taken; undefined when it can at once. */
  write(bytes: Buffer): Promise<void> | undefined {
    this.#bytes += bytes.length
    this.#show(this.#screen.write(this.#decoder.write(bytes)))
    if (this.#stored) return this.#stored.write(bytes)
    this.#raw.push(bytes)
    return this.#bytes > READ_CHARS || this.#chars > READ_CHARS ? this.#begin() : undefined
  }

  /** What there is. Nothing can be written afterwards. */
  async finish(): Promise<Captured> {
    this.#show(this.#screen.write(this.#decoder.end()) + this.#screen.flush())
    const left = this.#chars - READ_CHARS
    if (left > 0 && !this.#stored) await this.#begin()
    const stored = await this.#stored?.finish()
    if (!stored || left <= 0) return { text: this.#head + this.#tail, file: undefined }
    const note = `[... ${left} characters are left out here. ${stored.note} ...]`
    return { text: `${this.#head}\n${note}\n${this.#tail.slice(-TAIL_CHARS)}`.toWellFormed(), file: stored.file }
  }

  /** Nobody wants it any more. */
  discard(): void {
    this.#stored?.discard()
  }

  #begin(): Promise<void> {
    this.#stored = this.#store()
    const before = Buffer.concat(this.#raw)
    this.#raw.length = 0
    return this.#stored.write(before)
  }

  #show(text: string): void {
    this.#chars += text.length
    const room = HEAD_CHARS - this.#head.length
    if (room > 0) this.#head += text.slice(0, room)
    this.#tail += room > 0 ? text.slice(room) : text
    if (this.#tail.length > 2 * TAIL_CHARS) this.#tail = this.#tail.slice(-TAIL_CHARS)
  }
}
