import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'

const deflate = promisify(deflateRaw)

export interface ZipEntry {
  /** With slashes; must not be repeated. */
  name: string
  content: string | Uint8Array
  modified: Date
}

/** Offsets are 32 bits wide in this form of the format. */
const MAX_BYTES = 0xffff_ffff
const UTF8_NAMES = 0x0800
const STORED = 0
const DEFLATED = 8
/** Shorter content gains nothing. */
const WORTH_PACKING = 128
const VERSION = 20
const VERSION_64 = 45

/** A zip file, entry by entry: only one of them is held at a time, beside the directory that comes last. Fails past 4 GB. */
export async function* zip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Buffer> {
  const directory: Buffer[] = []
  let offset = 0
  for await (const { name, content, modified } of entries) {
    const bytes = Buffer.from(content)
    const packs = bytes.length >= WORTH_PACKING
    const packed = packs ? await deflate(bytes) : bytes
    const path = Buffer.from(name)
    const facts = commonFields({
      path,
      method: packs ? DEFLATED : STORED,
      crc: crc32(bytes),
      packed: packed.length,
      size: bytes.length,
      modified,
    })
    const local = Buffer.concat([u32(0x04034b50), facts, u16(0), path])
    // Comment, disk, internal attributes; then external ones: a plain file, rw-r--r--.
    const tail = [u16(0), u16(0), u16(0), u16(0), u32((0o100644 << 16) >>> 0), u32(offset), path]
    directory.push(Buffer.concat([u32(0x02014b50), u16((3 << 8) | VERSION), facts, ...tail]))
    offset += local.length + packed.length
    if (offset > MAX_BYTES) throw new Error('A zip file of more than 4 GB')
    yield local
    yield packed
  }
  const listing = Buffer.concat(directory)
  yield listing
  yield ending(directory.length, listing.length, offset)
}

function commonFields(of: {
  path: Buffer
  method: number
  crc: number
  packed: number
  size: number
  modified: Date
}): Buffer {
  const at = of.modified
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  const date = (Math.max(0, at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  const head = [u16(VERSION), u16(UTF8_NAMES), u16(of.method), u16(time), u16(date)]
  return Buffer.concat([...head, u32(of.crc), u32(of.packed), u32(of.size), u16(of.path.length)])
}

/** Where the directory is. Its 16-bit count is too small for a long log: then the wider form precedes it. */
function ending(count: number, size: number, offset: number): Buffer {
  const wide = count >= 0xffff
  const end = [u32(0x06054b50), u16(0), u16(0), u16(Math.min(count, 0xffff)), u16(Math.min(count, 0xffff))]
  const short = Buffer.concat([...end, u32(size), u32(offset), u16(0)])
  if (!wide) return short
  const record = [u32(0x06064b50), u64(44), u16(VERSION_64), u16(VERSION_64), u32(0), u32(0), u64(count), u64(count)]
  const locator = [u32(0x07064b50), u32(0), u64(offset + size), u32(1)]
  return Buffer.concat([...record, u64(size), u64(offset), ...locator, short])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}
function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
