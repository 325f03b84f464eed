import { formatUtc, parseTime } from '../lib/time.ts'
import type { Slice } from './provider.ts'

/** What a client is given to ask for the next page: URL-safe, without padding. */
export const pageIdOf = (cursor: string | null): string | null =>
  cursor === null ? null : Buffer.from(cursor).toString('base64url')

export const cursorOf = (pageId: string | null): string | null =>
  pageId ? Buffer.from(pageId, 'base64url').toString('utf8') : null

/** Of a cursor that is the number of a page, as those of most providers are. */
export const pageNumber = ({ cursor }: Slice): number => (cursor && /^[1-9]\d{0,6}$/.test(cursor) ? Number(cursor) : 1)

/** The cursor of the next page, by the header in which providers link it. */
export const nextByLink = (headers: Headers, slice: Slice): string | null =>
  /;\s*rel="?next"?/i.test(headers.get('link') ?? '') ? String(pageNumber(slice) + 1) : null

/** A provider's time, which may have any offset. */
export function utc(text: string | null | undefined): string | null {
  const at = text ? parseTime(text) : undefined
  return at === undefined ? null : formatUtc(at)
}

/** A name of several parts as a path, each part escaped. */
export const asPath = (name: string): string => name.split('/').map(encodeURIComponent).join('/')
