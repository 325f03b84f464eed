import type { Client } from '../api/client.ts'
import { canonicalUuid } from '../lib/id.ts'
import { Failure } from './io.ts'

const PAGE = 100

/** The conversation whose id this is, or begins so. */
export async function findConversation(client: Client, text: string): Promise<string> {
  const whole = canonicalUuid(text)
  if (whole !== undefined) return whole
  const prefix = text.toLowerCase()
  let found: string | undefined
  for (let page_id: string | undefined; ; ) {
    const page = await client.searchConversations({ query: { limit: PAGE, ...(page_id && { page_id }) } })
    for (const { id } of page.items) {
      if (!id.startsWith(prefix)) continue
      if (found !== undefined) throw new Failure(`"${text}" is the beginning of several conversations: ${found}, ${id}`)
      found = id
    }
    if (!page.next_page_id) break
    page_id = page.next_page_id
  }
  if (found === undefined) throw new Failure(`there is no conversation "${text}"`)
  return found
}
