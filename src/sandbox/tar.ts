import { fault } from '../api/errors.ts'

/** Bytes as text, one character each: names in an archive need not be UTF-8. */
type Latin = string

export interface TarEntry {
  kind: 'file' | 'directory' | 'symlink' | 'hardlink'
  /** Without `.`, `..`, or slashes at either end. */
  name: Latin
  /** Of a link: what it says, or for a hard link the name of an entry. */
  target: Latin
  mode: number
  modified: number
  size: number
}

const BLOCK = 512
/** A name that is longer is none that a file system takes. */
const NAME_BYTES = 8192

const bad = (why: string) => fault('bad_request', `This archive cannot be unpacked: ${why}`)

/** Reads a tar of any dialect (ustar, GNU, pax) and gives each entry, then its content. Anything else than files, directories and links is refused. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry | Buffer> {
  const bytes = new Blocks(source)
  let over: { name?: Latin; target?: Latin; size?: number } = {}
  for (;;) {
    const header = await bytes.take(BLOCK)
    if (header.length === 0 || header.every(byte => byte === 0)) return
    if (header.length < BLOCK || !isIntact(header)) throw bad('a header is damaged')
    const size = number(header, 124, 12)
    const type = String.fromCharCode(header[156]!)
    if ('LKxg'.includes(type)) {
      if (size > NAME_BYTES) throw bad('a name is too long')
      const extra = (await bytes.padded(size)).toString('latin1')
      if (type === 'L') over.name = extra.replace(/\0.*$/s, '')
      if (type === 'K') over.target = extra.replace(/\0.*$/s, '')
      if (type === 'x') over = { ...over, ...records(extra) }
      continue
    }
    const kind = KINDS[type]
    if (!kind) throw bad('it holds more than files, directories and links')
    const prefix = header.toString('latin1', 257, 262) === 'ustar' ? text(header, 345, 155) : ''
    const name = over.name ?? (prefix ? `${prefix}/${text(header, 0, 100)}` : text(header, 0, 100))
    const length = kind === 'file' ? (over.size ?? size) : 0
    if (!Number.isSafeInteger(length) || length < 0) throw bad('a size is no size')
    const target = over.target ?? text(header, 157, 100)
    over = {}
    yield { kind, name, target, mode: number(header, 100, 8) & 0o777, modified: number(header, 136, 12), size: length }
    for (let left = length; left > 0; ) {
      const chunk = await bytes.some(left)
      left -= chunk.length
      yield chunk
    }
    await bytes.take(padding(length))
  }
}

const KINDS: Record<string, TarEntry['kind']> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

const text = (header: Buffer, at: number, length: number): Latin =>
  header.toString('latin1', at, at + length).replace(/\0.*$/s, '')

function number(header: Buffer, at: number, length: number): number {
  if (header[at]! & 0x80) return Number(header.readBigUInt64BE(at + length - 8))
  return Number.parseInt(text(header, at, length).trim() || '0', 8)
}

function isIntact(header: Buffer): boolean {
  const sum = header.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0)
  return number(header, 148, 8) === sum
}

function records(extra: string): { name?: Latin; target?: Latin; size?: number } {
  const found: { name?: Latin; target?: Latin; size?: number } = {}
  for (let at = 0; at < extra.length; ) {
    const [whole, length, key] = /^(\d{1,5}) ([^=]+)=/.exec(extra.slice(at, at + 300)) ?? []
    if (!whole || Number(length) <= whole.length) break
    const value = extra.slice(at + whole.length, at + Number(length) - 1)
    if (key === 'path') found.name = value
    if (key === 'linkpath') found.target = value
    if (key === 'size') found.size = Number(value)
    at += Number(length)
  }
  return found
}

/** A header of our own making, so that what unpacks it reads what was judged. */
export function tarHeader({ kind, name, target, mode, modified, size }: TarEntry): Buffer {
  const long = [
    ...(name.length > 100 ? [longField('L', name)] : []),
    ...(target.length > 100 ? [longField('K', target)] : []),
  ]
  const type = { file: '0', hardlink: '1', symlink: '2', directory: '5' }[kind]
  return Buffer.concat([...long, block({ name, target, mode, modified, size, type })])
}

function longField(type: string, value: Latin): Buffer {
  const content = Buffer.from(`${value}\0`, 'latin1')
  const head = block({ name: '././@LongLink', target: '', mode: 0, modified: 0, size: content.length, type })
  return Buffer.concat([head, content, Buffer.alloc(padding(content.length))])
}

function block(of: { name: Latin; target: Latin; mode: number; modified: number; size: number; type: string }): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, length: number) =>
    `${Math.max(0, value)
      .toString(8)
      .padStart(length - 1, '0')}\0`
  header.write(of.name.slice(0, 100), 0, 'latin1')
  header.write(
    octal(of.mode, 8) + octal(0, 8) + octal(0, 8) + octal(Math.min(of.size, 0o77777777777), 12),
    100,
    'latin1',
  )
  header.write(`${octal(Math.min(of.modified, 0o77777777777), 12)}        ${of.type}`, 136, 'latin1')
  header.write(of.target.slice(0, 100), 157, 'latin1')
  header.write('ustar  \0', 257, 'latin1')
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  )
  return header
}

export const tarPadding = (size: number): Buffer => Buffer.alloc(padding(size))
export const TAR_END = Buffer.alloc(2 * BLOCK)

/** A stream, taken in pieces of a wanted length. */
class Blocks {
  readonly #source: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** So many bytes; fewer only at the end. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let missing = count
    while (missing > 0 && (await this.#fill())) {
      const part = this.#rest.subarray(0, missing)
      this.#rest = this.#rest.subarray(part.length)
      missing -= part.length
      parts.push(part)
    }
    return Buffer.concat(parts)
  }

  async padded(size: number): Promise<Buffer> {
    return (await this.take(size + padding(size))).subarray(0, size)
  }

  /** What is there, up to so many bytes. */
  async some(count: number): Promise<Buffer> {
    if (!(await this.#fill())) throw bad('it ends in the middle of a file')
    const part = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next()
      if (done) return false
      this.#rest = Buffer.from(value)
    }
    return true
  }
}
