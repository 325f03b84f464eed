const DASHED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const HEX = /^[0-9a-f]{32}$/

export const newId = (): string => crypto.randomUUID()

/** The dashed lower-case form of a UUID given dashed or as 32 hex digits; undefined for anything else. */
export function canonicalUuid(text: string): string | undefined {
  const lower = text.toLowerCase()
  if (DASHED.test(lower)) return lower
  return HEX.test(lower)
    ? `${lower.slice(0, 8)}-${lower.slice(8, 12)}-${lower.slice(12, 16)}-${lower.slice(16, 20)}-${lower.slice(20)}`
    : undefined
}

/** The 32-digit form. */
export const hexUuid = (dashed: string): string => dashed.replaceAll('-', '')
