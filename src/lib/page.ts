export interface Page<T> {
  items: T[]
  next_page_id: string | null
}

/**
 * A page of a list that is at hand as a whole. Its id is how many items come before it, in base64 as clients of this interface
 * know it; one that says no number is the first page.
 */
export function pageOf<T>(all: readonly T[], { page_id, limit }: { page_id: string | null; limit: number }): Page<T> {
  const said = Buffer.from(page_id ?? '', 'base64url').toString()
  const start = /^\d{1,9}$/.test(said) ? Number(said) : 0
  const end = start + limit
  const next_page_id = end < all.length ? Buffer.from(String(end)).toString('base64url') : null
  return { items: all.slice(start, end), next_page_id }
}
