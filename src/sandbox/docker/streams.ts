import { type Duplex, Readable } from 'node:stream'

/** As much as a pipe holds, so that a short answer waits for its reader without holding the other stream up. */
const HELD_BYTES = 64 * 1024

export interface Streams {
  stdout: Readable
  stderr: Readable
}

export interface Splitting {
  /** A terminal's output comes bare; otherwise each frame says which stream it belongs to. */
  terminal: boolean
  /**
   * When somebody may be reading. Until then the connection is not held up: the word that it waits for is on one stream, and the
   * engine may send much of the other before.
   */
  begun: Promise<void>
  /** Sees what is told in the midst of the output, and takes it out. */
  words: Words
}

export interface Words {
  /** What is left of a part without them. */
  without(part: Buffer): Buffer
  /** What was held back at the end, for it could have become one. */
  rest(): Buffer
}

/**
 * Output and errors of a connection. A reader that is slow holds the connection up, and with it the command. When nobody wants
 * either of them any more, the connection is let go.
 */
export function split(connection: Duplex, { terminal, begun, words }: Splitting): Streams {
  const full = new Set<Readable>()
  let read = false
  const holdUp = () => {
    if (read && full.size > 0) connection.pause()
  }
  void begun.then(() => {
    read = true
    holdUp()
  })
  const goOn = (stream: Readable) => {
    full.delete(stream)
    if (full.size === 0) connection.resume()
  }
  const make = () => {
    const stream = new Readable({ highWaterMark: HELD_BYTES, read: () => goOn(stream) })
    stream.on('error', () => undefined)
    stream.once('close', () => {
      goOn(stream)
      if (stdout.destroyed && stderr.destroyed) connection.destroy()
    })
    return stream
  }
  const stdout = make()
  const stderr = make()
  const marked = terminal ? stdout : stderr
  const give = (stream: Readable, chunk: Buffer) => {
    const part = stream === marked ? words.without(chunk) : chunk
    if (part.length > 0 && !stream.destroyed && !stream.push(part)) full.add(stream)
  }
  const take = terminal
    ? (chunk: Buffer) => give(stdout, chunk)
    : unframed((type, part) => give(type === 2 ? stderr : stdout, part))
  connection.on('data', chunk => {
    take(chunk)
    holdUp()
  })
  connection.on('error', () => undefined)
  connection.once('close', () => {
    if (!marked.destroyed) marked.push(words.rest())
    for (const stream of [stdout, stderr]) if (!stream.destroyed) stream.push(null)
  })
  connection.once('end', () => connection.destroy())
  return { stdout, stderr }
}

const HEADER_BYTES = 8

/** Frames: a byte for the stream, three of nothing, four of length. They may be cut anywhere. */
export function unframed(give: (type: number, part: Buffer) => void): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES)
  let have = 0
  let left = 0
  return chunk => {
    let at = 0
    while (at < chunk.length) {
      if (left === 0) {
        const taken = chunk.copy(header, have, at, at + HEADER_BYTES - have)
        have += taken
        at += taken
        if (have < HEADER_BYTES) return
        have = 0
        left = header.readUInt32BE(4)
        continue
      }
      const part = chunk.subarray(at, at + left)
      give(header[0]!, part)
      at += part.length
      left -= part.length
    }
  }
}

/** Longer is no word of ours. */
const WORD_BYTES = 16

/**
 * Finds words that are told in the midst of output: `ESC ] gantry-<token> ; <word> BEL`. A terminal that met one would
 * show nothing. Nobody can write the token who does not go looking for it, and then it is only their own end they lie about.
 */
export function wordsIn(token: string, tell: (word: string) => void): Words {
  const opening = Buffer.from(`\x1b]gantry-${token};`)
  let kept: Buffer = Buffer.alloc(0)
  const without = (part: Buffer) => {
    let rest = kept.length > 0 ? Buffer.concat([kept, part]) : part
    const plain: Buffer[] = []
    kept = Buffer.alloc(0)
    for (;;) {
      const at = rest.indexOf(opening)
      if (at < 0) break
      const end = rest.indexOf(7, at + opening.length)
      if (end < 0 && rest.length - at < opening.length + WORD_BYTES) {
        kept = rest.subarray(at)
        plain.push(rest.subarray(0, at))
        return Buffer.concat(plain)
      }
      const whole = end >= 0 && end - at < opening.length + WORD_BYTES
      if (whole) tell(rest.toString('latin1', at + opening.length, end))
      plain.push(rest.subarray(0, whole ? at : at + opening.length))
      rest = rest.subarray(whole ? end + 1 : at + opening.length)
    }
    const last = rest.lastIndexOf(0x1b)
    const begun = last >= 0 && opening.subarray(0, rest.length - last).equals(rest.subarray(last))
    if (begun) kept = rest.subarray(last)
    plain.push(begun ? rest.subarray(0, last) : rest)
    return plain.length === 1 ? plain[0]! : Buffer.concat(plain)
  }
  return { without, rest: () => kept }
}
