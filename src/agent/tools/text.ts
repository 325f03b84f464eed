/** How the bytes of a file stand for its text. */
export type Encoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'latin-1'

/** Decoded, and everything about it that a change must keep. */
export interface Text {
  content: string
  encoding: Encoding
}

const MARKS: readonly [Encoding, number[]][] = [
  ['utf-8-bom', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** What no text in Latin-1 has: controls other than white space (8 to 13) and escape (27). */
const isStrange = (byte: number): boolean => byte < 8 || (byte > 13 && byte < 32 && byte !== 27) || byte === 127

/** Undefined when these bytes are no text. Encoding what comes back gives the same bytes. */
export function decode(bytes: Buffer): Text | undefined {
  const [encoding, mark] = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte)) ?? ['utf-8', []]
  const body = bytes.subarray(mark.length)
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    if (body.length % 2 !== 0) return undefined
    const content = (encoding === 'utf-16be' ? Buffer.from(body).swap16() : body).toString('utf16le')
    return content.includes('\0') || !content.isWellFormed() ? undefined : { content, encoding }
  }
  try {
    const content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    return content.includes('\0') ? undefined : { content, encoding }
  } catch {
    return bytes.some(isStrange) ? undefined : { content: bytes.toString('latin1'), encoding: 'latin-1' }
  }
}

/** Undefined when this encoding has no bytes for it. */
export function encode({ content, encoding }: Text): Buffer | undefined {
  const mark = Buffer.from(MARKS.find(([name]) => name === encoding)?.[1] ?? [])
  switch (encoding) {
    case 'utf-8':
    case 'utf-8-bom':
      return Buffer.concat([mark, Buffer.from(content)])
    case 'utf-16le':
      return Buffer.concat([mark, Buffer.from(content, 'utf16le')])
    case 'utf-16be':
      return Buffer.concat([mark, Buffer.from(content, 'utf16le').swap16()])
    case 'latin-1':
      return /[\u0100-\uffff]/.test(content) ? undefined : Buffer.from(content, 'latin1')
  }
}

/** One line of a file, and what ends it: nothing after the last one, perhaps. */
export interface Line {
  text: string
  end: '\n' | '\r\n' | ''
}

export function linesOf(content: string): Line[] {
  const parts = content.split('\n')
  const last = parts.pop()!
  const lines = parts.map(
    (part): Line => (part.endsWith('\r') ? { text: part.slice(0, -1), end: '\r\n' } : { text: part, end: '\n' }),
  )
  return last === '' ? lines : [...lines, { text: last, end: '' }]
}

/** How lines end here, for those that are added. */
export function lineEnd(content: string): '\n' | '\r\n' {
  const crlf = content.split('\r\n').length - 1
  return crlf * 2 > content.split('\n').length - 1 ? '\r\n' : '\n'
}

/** Text with these line ends, whatever it had. */
export const withEnds = (text: string, end: '\n' | '\r\n'): string => {
  const plain = text.replaceAll('\r\n', '\n')
  return end === '\n' ? plain : plain.replaceAll('\n', end)
}
