import type { IncomingHttpHeaders } from 'node:http'

/** What the caller shall get of something that has this size and version. */
export type Extent =
  | { status: 200 | 206; from: number; count: number }
  /** They have it already. */
  | { status: 304 }
  /** Nothing of it is where they look. */
  | { status: 416 }

/**
 * Conditions and ranges (RFC 9110, 13 and 14). Several ranges, or one that cannot be read, mean the whole: a server may choose to.
 */
export function extentOf(headers: IncomingHttpHeaders, size: number, etag: string): Extent {
  const wanted = headers['if-none-match']
  if (wanted !== undefined && (wanted.trim() === '*' || tags(wanted).includes(etag))) return { status: 304 }
  const whole: Extent = { status: 200, from: 0, count: size }
  const condition = headers['if-range']
  if (headers.range === undefined || (condition !== undefined && condition !== etag)) return whole
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(headers.range) ?? []
  if (first === undefined || last === undefined || first + last === '') return whole
  if (first === '') {
    const count = Math.min(Number(last), size)
    return count > 0 ? { status: 206, from: size - count, count } : { status: 416 }
  }
  const from = Number(first)
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < from) return whole
  return from < size ? { status: 206, from, count: to - from + 1 } : { status: 416 }
}

const tags = (list: string): string[] => list.split(',').map(tag => tag.trim().replace(/^W\//, ''))

/** A header that offers a file under its name, whatever is in it (RFC 6266): plain for old clients, exact for the others. */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const exact = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${exact}`}`
}
