/** A word of the shell's, between the output of its commands. */
export interface Mark {
  /** Of the command it is about; 0 is the start. */
  number: number
  /** What `$?` was. */
  code: number
  /** The working directory, and at the start what there is to know besides. */
  text: string
}

/** A mark that never ends is none: longer than any path. */
const MARK_BYTES = 16_384

/** Tells output from marks, `ESC ] <token> ; number ; code ; text ; <token> BEL`, however they are cut into pieces. */
export class Marks {
  readonly #start: Buffer
  readonly #end: Buffer
  readonly #onOutput: (bytes: Buffer) => void
  readonly #onMark: (mark: Mark) => void
  #rest: Buffer = Buffer.alloc(0)

  constructor(token: string, onOutput: (bytes: Buffer) => void, onMark: (mark: Mark) => void) {
    this.#start = Buffer.from(`\x1b]${token};`)
    this.#end = Buffer.from(`;${token}\x07`)
    this.#onOutput = onOutput
    this.#onMark = onMark
  }

  write(chunk: Buffer): void {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    for (let end = bytes.indexOf(this.#end); end !== -1; end = bytes.indexOf(this.#end)) {
      const before = bytes.subarray(0, end)
      const at = before.lastIndexOf(this.#start)
      this.#output(at === -1 ? before : before.subarray(0, at))
      if (at !== -1) this.#mark(before.toString('utf8', at + this.#start.length))
      bytes = bytes.subarray(end + this.#end.length)
    }
    const whole = bytes.length - this.#begun(bytes)
    this.#output(bytes.subarray(0, whole))
    this.#rest = bytes.subarray(whole)
  }

  /** How many of the last bytes may be the beginning of a mark. */
  #begun(bytes: Buffer): number {
    const start = bytes.indexOf(this.#start)
    if (start !== -1) return bytes.length - start < MARK_BYTES ? bytes.length - start : 0
    const tail = bytes.subarray(Math.max(0, bytes.lastIndexOf(this.#start[0]!)))
    return tail.equals(this.#start.subarray(0, tail.length)) ? tail.length : 0
  }

  #output(bytes: Buffer): void {
    if (bytes.length > 0) this.#onOutput(bytes)
  }

  #mark(inner: string): void {
    const [, number, code, text] = /^(\d+);(\d+);(.*)$/s.exec(inner) ?? []
    if (number !== undefined) this.#onMark({ number: Number(number), code: Number(code), text: text! })
  }
}
