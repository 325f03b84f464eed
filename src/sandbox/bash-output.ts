import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Exit, Process } from './sandbox.ts'

/** What of each stream is told as it comes, in characters: more than anybody reads, less than what hurts a page. */
const HEAD = 8 * 1024 * 1024
/** What is kept of its end beyond that. */
const TAIL = 256 * 1024
/** How much may gather of both before it is told at once. Until it is stored nothing more is read. */
const PART = 512 * 1024
/** How soon after it came output is told: a twentieth of the command's age, between these. A long one makes few events. */
const SOONEST_MS = 100
const LATEST_MS = 2_000
/** How long streams must be silent, after their command has ended, to be left to what it left in the background. */
const LINGER_MS = 250
/** And how long they are listened to if they never are. */
const LINGER_AT_MOST_MS = 5_000

export interface Part {
  stdout: string
  stderr: string
}

/** Follows what a command prints: tells it in parts as it comes, bounded, and keeps the last part. */
export class Output {
  readonly #stdout = new Printed()
  readonly #stderr = new Printed()
  readonly #tell: (part: Part) => Promise<void>
  readonly #started = performance.now()
  #due: NodeJS.Timeout | undefined
  #told = Promise.resolve()
  #paused = false
  #onData: () => void = () => undefined

  /** `tell` must be done with one part before it gets the next. What it rejects is left out, and that is said. */
  constructor(tell: (part: Part) => Promise<void>) {
    this.#tell = tell
  }

  /** Resolves when the command has ended and its streams have been read. */
  async follow(command: Process): Promise<Exit> {
    const streams = [command.stdout, command.stderr]
    const printed = [this.#stdout, this.#stderr]
    streams.forEach((stream, i) => {
      stream.on('data', (chunk: Buffer) => this.#take(printed[i]!, chunk, streams))
    })
    const ended = Promise.all(streams.map(ending))
    const exit = await command.exit
    await Promise.race([ended, this.#silence()])
    for (const stream of streams) stream.destroy()
    return exit
  }

  /** What was not told yet, and the end of what was left out. */
  async rest(): Promise<Part> {
    clearTimeout(this.#due)
    await this.#told
    return { stdout: this.#stdout.end(), stderr: this.#stderr.end() }
  }

  #take(printed: Printed, chunk: Buffer, streams: Readable[]): void {
    printed.push(chunk)
    this.#onData()
    const waiting = this.#stdout.waiting + this.#stderr.waiting
    if (waiting === 0) return
    if (waiting < PART) {
      this.#due ??= setTimeout(() => void this.#flush(), this.#patience())
      return
    }
    if (this.#paused) return
    this.#paused = true
    for (const stream of streams) stream.pause()
    void this.#flush().then(() => {
      this.#paused = false
      for (const stream of streams) stream.resume()
    })
  }

  #patience(): number {
    return Math.min(LATEST_MS, Math.max(SOONEST_MS, (performance.now() - this.#started) / 20))
  }

  /** One after another: a flush waits for the one before, and takes what has gathered until then. */
  #flush(): Promise<void> {
    clearTimeout(this.#due)
    this.#due = undefined
    this.#told = this.#told.then(() => this.#tellWaiting())
    return this.#told
  }

  async #tellWaiting(): Promise<void> {
    const part = { stdout: this.#stdout.take(), stderr: this.#stderr.take() }
    if (part.stdout === '' && part.stderr === '') return
    await this.#tell(part).catch(() => {
      this.#stdout.lose(part.stdout)
      this.#stderr.lose(part.stderr)
    })
  }

  #silence(): Promise<void> {
    return new Promise(resolve => {
      let timer: NodeJS.Timeout
      const done = () => {
        clearTimeout(timer)
        clearTimeout(impatience)
        this.#onData = () => undefined
        resolve()
      }
      const wait = () => {
        clearTimeout(timer)
        timer = setTimeout(() => (this.#paused ? wait() : done()), LINGER_MS)
      }
      const impatience = setTimeout(done, LINGER_AT_MOST_MS)
      this.#onData = wait
      wait()
    })
  }
}

const ending = (stream: Readable): Promise<void> =>
  new Promise(resolve => {
    if (stream.destroyed || stream.readableEnded) resolve()
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })

/** One stream as text: characters are never cut, wherever its chunks end. */
class Printed {
  readonly #decoder = new StringDecoder('utf8')
  #waiting: string[] = []
  waiting = 0
  #room = HEAD
  #tail: string[] = []
  #tailLength = 0
  #lost = 0

  push(chunk: Buffer): void {
    this.#add(this.#decoder.write(chunk))
  }

  take(): string {
    const text = this.#waiting.join('')
    this.#waiting = []
    this.waiting = 0
    return text
  }

  lose(text: string): void {
    this.#lost += text.length
  }

  end(): string {
    this.#add(this.#decoder.end())
    const text = this.take()
    const all = this.#tail.join('')
    const tail = all.slice(wholeFrom(all, all.length - TAIL))
    const lost = this.#lost + all.length - tail.length
    return lost === 0 ? text + tail : `${text}\n[${lost} characters left out]\n${tail}`
  }

  #add(text: string): void {
    const cut = this.#room >= text.length ? text.length : wholeFrom(text, this.#room)
    if (cut > 0) {
      this.#waiting.push(text.slice(0, cut))
      this.waiting += cut
    }
    this.#room = cut < text.length ? 0 : this.#room - cut
    if (cut < text.length) this.#keep(text.slice(cut))
  }

  #keep(text: string): void {
    this.#tail.push(text)
    this.#tailLength += text.length
    while (this.#tailLength - this.#tail[0]!.length >= TAIL) {
      const [oldest] = this.#tail.splice(0, 1)
      this.#tailLength -= oldest!.length
      this.#lost += oldest!.length
    }
  }
}

/** A place at or after this one where no character is cut in two. */
function wholeFrom(text: string, at: number): number {
  if (at <= 0) return 0
  const second = text.charCodeAt(at)
  return second >= 0xdc00 && second <= 0xdfff ? at + 1 : at
}
