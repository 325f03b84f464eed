import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aMessage, anOrder, TestServer } from '../support/server.ts'

test('P5: a page of very large events is cut short, and the next page goes on where it was cut', async () => {
  await using server = await TestServer.start()
  const { client } = server
  const { id } = await client.startConversation({ body: anOrder() })
  const params = { conversation_id: id }
  const sizes = [10, 20_000_000, 20_000_000, 10, 25_000_000, 10]
  for (const [i, size] of sizes.entries()) await client.sendMessage({ params, body: aMessage(String(i).repeat(size)) })
  for (const sort_order of ['TIMESTAMP', 'TIMESTAMP_DESC'] as const) {
    const ids: string[] = []
    let pages = 0
    let page_id: string | null = null
    do {
      const page = await client.searchEvents({ params, query: { page_id, sort_order } })
      ids.push(...page.items.map(event => event.id))
      page_id = page.next_page_id
      pages += 1
    } while (page_id)
    assert.ok(pages > 1)
    // The prompt, and two for each message.
    assert.equal(ids.length, 1 + 2 * sizes.length)
    assert.equal(new Set(ids).size, ids.length)
  }
})
