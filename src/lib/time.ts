/**
 * Time in microseconds since 1970 (UTC), as a number: exact until the year 2255.
 */
export type Micros = number

/** The wall clock: the digits below a millisecond only serve to tell neighbours apart. */
export const now = (): Micros => Date.now() * 1000 + (Math.floor(performance.now() * 1000) % 1000)

/** `2026-03-01T10:00:00.100000`: UTC without an offset, always six digits, so that text order is time order. */
export const formatNaive = (at: Micros): string =>
  `${new Date(Math.floor(at / 1000)).toISOString().slice(0, 19)}.${String(at % 1_000_000).padStart(6, '0')}`

export const formatUtc = (at: Micros): string => `${formatNaive(at)}Z`

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i

/** Reads an ISO-8601 date or date-time. Without an offset it is UTC, as our own timestamps are. */
export function parseTime(text: string): Micros | undefined {
  const match = ISO.exec(text.trim())
  if (!match) return undefined
  const [, date, minutes = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match
  const offset = zone.length === 5 && zone !== 'Z' ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  const millis = Date.parse(`${date}T${minutes}:${seconds}${offset}`)
  if (Number.isNaN(millis)) return undefined
  return millis * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6))
}
