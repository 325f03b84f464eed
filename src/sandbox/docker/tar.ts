/** A folder, or a file with its content. */
export interface Entry {
  /** Absolute. */
  path: string
  mode: number
  uid: number
  gid: number
  content?: Buffer
}

const BLOCK = 512

/** The archive that the engine unpacks: ustar, which holds paths of up to 255 bytes. */
export function tar(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.flatMap(packed), Buffer.alloc(2 * BLOCK)])
}

function packed({ path, mode, uid, gid, content }: Entry): Buffer[] {
  const name = `${path.slice(1)}${content ? '' : '/'}`
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  // The last slash that leaves at most 100 bytes behind it parts the name from its prefix.
  const cut = Buffer.byteLength(name) <= 100 ? -1 : name.indexOf('/', Math.max(0, name.length - 101))
  header.write(name.slice(cut + 1), 0, 100)
  octal(mode, 100, 8)
  octal(uid, 108, 8)
  octal(gid, 116, 8)
  octal(content?.length ?? 0, 124, 12)
  octal(0, 136, 12)
  header.write('        ', 148)
  header.write(content ? '0' : '5', 156)
  header.write('ustar\x0000', 257, 'latin1')
  if (cut >= 0) header.write(name.slice(0, cut), 345, 155)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  if (!content) return [header]
  return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
}

/** The content of an archive's first file. */
export function firstFile(archive: Buffer): Buffer | undefined {
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 136), 8) || 0
    const type = archive.toString('latin1', at + 156, at + 157)
    if (type === '0' || type === '\0') return archive.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return undefined
}
