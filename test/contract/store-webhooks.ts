import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Owed, Store, WebhookTold } from '../../src/store/store.ts'
import { appending, find, make, type Opened, someEvents } from './store.ts'

const EVER = Number.MAX_SAFE_INTEGER
const HOUR = 3_600_000_000
const [A, B] = [
  { id: 'a', buffer: 3, delay: HOUR },
  { id: 'b', buffer: 1, delay: 0 },
]

const owed = (store: Store, webhook = 'a', by = EVER): Promise<Owed[]> => store.owed({ webhook, by, limit: 100 })
const due = (store: Store, webhook = 'a') => owed(store, webhook, Date.now() * 1000 + 1_000_000)
const facts = (rows: Owed[]) => rows.map(({ id, seq, head, news }) => ({ id, seq, head, news }))
const telling = ({ webhook, no }: Owed, seq: number, more: Partial<WebhookTold> = {}): WebhookTold => ({
  ...{ webhook, no, at: 1, seq, news: 0, moreNews: 0, farewell: false, count: 1 },
  ...more,
})
const one = (rows: Owed[]): Owed => rows[0] ?? assert.fail('nothing is owed')

/** What the Store port promises of webhooks. */
export function webhookContract(name: string, open: () => Promise<Opened>): void {
  const promise = (what: string, check: (store: Store, opened: Opened) => Promise<void>) =>
    test(what, async () => {
      await using opened = await open()
      await check(opened.store, opened)
    })

  describe(`${name}: webhooks`, () => {
    promise('without any, nothing is owed', async store => {
      const { no, id } = await make(store, {}, someEvents(2))
      await store.append(appending({ no, head: 2 }, someEvents(1, 3)))
      await store.deleteConversation(id, '{}')
      assert.deepEqual(await owed(store), [])
      assert.deepEqual(await store.webhooks(), [])
    })

    promise('what was created is owed from its beginning to each, what was appended from there', async store => {
      const old = await make(store, {}, someEvents(2))
      await store.setWebhooks([A, B])
      const { id } = await make(store, {}, someEvents(2))
      await store.append(appending(old, someEvents(1, 3)))
      const all = [
        { id, seq: 0, head: 2, news: 1 },
        { id: old.id, seq: 2, head: 3, news: 0 },
      ]
      for (const webhook of ['a', 'b']) assert.deepEqual(facts(await owed(store, webhook)), all)
    })

    promise('a few events are due later, many at once, and so is a change of status or title', async store => {
      const [few, many, status, title] = [await make(store), await make(store), await make(store), await make(store)]
      await store.setWebhooks([A, B])
      await store.append(appending(few, someEvents(2)))
      await store.append(appending(many, someEvents(2)))
      await store.append(appending({ no: many.no, head: 2 }, someEvents(1, 3)))
      await store.append(appending(status, someEvents(1), { status: 'running' }))
      await store.append(appending(title, [], { title: 'a title' }))
      const idsOf = (rows: Owed[]) => rows.map(({ id }) => id).sort()
      assert.deepEqual(idsOf(await due(store)), [many.id, status.id, title.id].sort())
      assert.equal((await due(store, 'b')).length, 4)
      assert.equal((await owed(store)).length, 4)
    })

    promise('what changes nothing that is told is not owed, nor is an append that was refused', async store => {
      const made = await make(store, {}, someEvents(1))
      await store.setWebhooks([A])
      await store.append(appending(made, [], { parts: { order: '{}' } }))
      await assert.rejects(store.append(appending({ no: made.no, head: 7 }, someEvents(1))))
      assert.deepEqual(await owed(store), [])
    })

    promise('what was told is owed no more; what came meanwhile is', async store => {
      await store.setWebhooks([A])
      const made = await make(store, {}, someEvents(2))
      const first = one(await owed(store))
      await store.append(appending(made, someEvents(1, 3), { status: 'running' }))
      await store.webhookTold(telling(first, 2, { news: first.news }))
      assert.deepEqual(facts(await due(store)), [{ id: made.id, seq: 2, head: 3, news: 1 }])
      await store.webhookTold(telling(one(await owed(store)), 3, { news: 1, moreNews: 1 }))
      assert.deepEqual(facts(await due(store)), [{ id: made.id, seq: 3, head: 3, news: 1 }])
      await store.webhookTold(telling(one(await owed(store)), 3, { news: 1, at: 9 }))
      assert.deepEqual(await owed(store), [])
      const [webhook] = await store.webhooks()
      assert.deepEqual([webhook?.delivered, webhook?.succeededAt], [3, 9])
    })

    promise('what was tried in vain waits for its time, whatever comes, and is told', async (store, { reopen }) => {
      await store.setWebhooks([A])
      const made = await make(store)
      const error = { at: 5, message: 'why', status: 500 }
      const { webhook, no } = one(await owed(store))
      await store.webhookFailed({ webhook, no, due: Date.now() * 1000 + HOUR, error })
      await store.append(appending(made, someEvents(9), { status: 'running' }))
      assert.deepEqual(await due(store), [])
      assert.deepEqual(await store.webhookDebt('a').then(({ oldest, ...debt }) => debt), {
        conversations: 1,
        failing: 1,
      })
      await store.close()
      const again = await reopen()
      assert.deepEqual((await again.webhooks())[0]?.error, error)
      assert.equal(one(await owed(again)).tries, 1)
      await again.pauseWebhook('a', false)
      assert.equal(one(await due(again)).tries, 0)
    })

    promise(
      'of a deleted one, the farewell alone is owed, in the commit of the deletion',
      async (store, { reopen }) => {
        await store.setWebhooks([A])
        const made = await make(store, {}, someEvents(2))
        const before = one(await owed(store))
        assert.equal(await store.deleteConversation(made.id, '"gone"'), true)
        // An answer to what was sent before comes late.
        await store.webhookTold(telling(before, 2, { news: 1 }))
        await store.close()
        const again = await reopen()
        assert.equal(one(await due(again)).farewell, '"gone"')
        await again.webhookTold(telling(before, 0, { farewell: true }))
        assert.deepEqual(await owed(again), [])
        const other = await make(again)
        await again.deleteConversation(other.id)
        assert.deepEqual(await owed(again), [])
      },
    )

    promise('of two that bear the same id, the second is owed once the first was told', async store => {
      await store.setWebhooks([A])
      const { id } = await make(store)
      await store.deleteConversation(id, '"gone"')
      await make(store, { id })
      const [first, ...others] = await owed(store)
      assert.ok(first?.farewell && others.length === 0)
      await store.webhookTold(telling(first, 0, { farewell: true }))
      assert.deepEqual(facts(await owed(store)), [{ id, seq: 0, head: 0, news: 1 }])
    })

    promise('one that is no more is owed nothing, also when it comes back; the others keep theirs', async store => {
      await store.setWebhooks([A, B])
      await make(store)
      await store.pauseWebhook('b', true)
      await store.setWebhooks([{ ...B, buffer: 7 }])
      await store.setWebhooks([A, B])
      assert.deepEqual(await owed(store), [])
      assert.equal((await owed(store, 'b')).length, 1)
      assert.deepEqual(
        (await store.webhooks()).map(({ id, paused }) => ({ id, paused })),
        [
          { id: 'a', paused: false },
          { id: 'b', paused: true },
        ],
      )
    })

    promise('the oldest thing that is owed is known', async store => {
      await store.setWebhooks([A])
      const made = await make(store, {}, someEvents(5))
      await store.webhookTold(telling(one(await owed(store)), 3, { news: 1 }))
      assert.equal((await store.webhookDebt('a')).oldest, 4)
      assert.equal((await find(store, made.id)).head, 5)
      await store.webhookTold(telling(one(await owed(store)), 5))
      assert.deepEqual({ ...(await store.webhookDebt('a')) }, { conversations: 0, failing: 0, oldest: null })
    })
  })
}
