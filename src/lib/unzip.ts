import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'

const inflate = promisify(inflateRaw)

/** What is wrong with a zip file, in words for whoever sent it. */
export class ZipError extends Error {}

export interface ZippedFile {
  /** As it stands in the archive: nothing to open a path by. */
  name: string
  /** In bytes, unpacked. `read` gives just so many, or rejects. */
  size: number
  read(): Promise<Buffer>
}

export interface UnzipLimits {
  files: number
  /** Of all of them together, unpacked, in bytes. */
  bytes: number
}

const END = Buffer.from('PK\x05\x06')
const END_BYTES = 22
const COMMENT_BYTES = 0xffff
const STORED = 0
const DEFLATED = 8
const ENCRYPTED = 1

/**
 * The files of a zip archive, by its directory. What they say of their size is summed up before any is unpacked, and none is
 * unpacked beyond it: however well an archive is packed, it takes no more room than the limits.
 */
export function unzip(archive: Buffer, limits: UnzipLimits): ZippedFile[] {
  try {
    const { count, offset } = directoryOf(archive)
    if (count > limits.files) throw new ZipError(`It holds more than ${limits.files} files`)
    const files: ZippedFile[] = []
    let total = 0
    let at = offset
    for (let i = 0; i < count; i += 1) {
      const { file, next } = entryAt(archive, at)
      total += file.size
      if (total > limits.bytes) throw new ZipError(`It holds more than ${limits.bytes} bytes`)
      if (!file.name.endsWith('/')) files.push(file)
      at = next
    }
    return files
  } catch (error) {
    if (error instanceof RangeError) throw new ZipError('Its directory is damaged')
    throw error
  }
}

/** Where the list of files is. The wider form precedes the usual one, where its numbers are too small. */
function directoryOf(archive: Buffer): { count: number; offset: number } {
  const end = archive.lastIndexOf(END)
  if (end < 0 || end < archive.length - END_BYTES - COMMENT_BYTES) throw new ZipError('It is no zip file, or torn')
  const count = archive.readUInt16LE(end + 10)
  const offset = archive.readUInt32LE(end + 16)
  if (count !== 0xffff && offset !== 0xffff_ffff) return { count, offset }
  const locator = end - 20
  if (archive.readUInt32LE(locator) !== 0x07064b50) return { count, offset }
  const wide = Number(archive.readBigUInt64LE(locator + 8))
  if (archive.readUInt32LE(wide) !== 0x06064b50) throw new ZipError('Its directory is damaged')
  return { count: Number(archive.readBigUInt64LE(wide + 32)), offset: Number(archive.readBigUInt64LE(wide + 48)) }
}

function entryAt(archive: Buffer, at: number): { file: ZippedFile; next: number } {
  if (archive.readUInt32LE(at) !== 0x02014b50) throw new ZipError('Its directory is damaged')
  const size = archive.readUInt32LE(at + 24)
  const ends = at + 46 + archive.readUInt16LE(at + 28)
  const name = archive.toString('utf8', at + 46, ends)
  const facts: Facts = {
    name,
    size,
    flags: archive.readUInt16LE(at + 8),
    method: archive.readUInt16LE(at + 10),
    crc: archive.readUInt32LE(at + 16),
    packed: archive.readUInt32LE(at + 20),
    offset: archive.readUInt32LE(at + 42),
  }
  const next = ends + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  return { file: { name, size, read: () => unpack(archive, facts) }, next }
}

interface Facts {
  name: string
  size: number
  flags: number
  method: number
  crc: number
  packed: number
  offset: number
}

async function unpack(archive: Buffer, { name, size, flags, method, crc, packed, offset }: Facts): Promise<Buffer> {
  if (flags & ENCRYPTED) throw new ZipError(`${name} is encrypted`)
  if (method !== STORED && method !== DEFLATED) throw new ZipError(`${name} is packed in an unknown way`)
  const torn = new ZipError(`${name} is damaged`)
  if (offset + 30 > archive.length || archive.readUInt32LE(offset) !== 0x04034b50) throw torn
  const start = offset + 30 + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28)
  const content = archive.subarray(start, start + packed)
  if (content.length !== packed) throw torn
  const bytes = method === STORED ? content : await inflated(content, size).catch(() => undefined)
  if (bytes?.length !== size || crc32(bytes) !== crc) throw torn
  return bytes
}

/** Rejects when there is more of it. The least that can be asked for is one byte. */
const inflated = (content: Buffer, size: number): Promise<Buffer> =>
  inflate(content, { maxOutputLength: Math.max(1, size) })
