import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import { newId } from '../../src/lib/id.ts'
import { anOrder, TestServer, tempFolder } from '../support/server.ts'

/** Starts a server on data that was changed by hand while no server had it. */
async function restarted(prepare: (server: TestServer) => Promise<void>, sql: string): Promise<TestServer> {
  const data = await tempFolder()
  const before = await TestServer.start({ data })
  await prepare(before)
  await before.stop()
  const db = new DatabaseSync(join(data, 'gantry.db'))
  db.exec(sql)
  db.close()
  return TestServer.start({ data })
}

const damaged = (error: unknown) =>
  error instanceof ClientError && error.status === 500 && (error.body as { code: string }).code === 'record_damaged'

describe('P4: damage on disk is no dead end', () => {
  test('damaged settings and secrets say so, and can be stored anew', async t => {
    await using server = await restarted(async ({ client }) => {
      await client.storeSettings({ body: { language: 'en' } })
      await client.putSecret({ body: { name: 'A', value: 'a' } })
    }, `UPDATE documents SET json = json || ' '`)
    t.after(() => rm(server.data, { recursive: true, force: true }))
    const { client } = server
    await assert.rejects(client.getSettings(), damaged)
    await assert.rejects(client.listSecrets(), damaged)
    await client.storeSettings({ body: { language: 'fr' } })
    await client.putSecret({ body: { name: 'B', value: 'b' } })
    assert.equal((await client.getSettings()).language, 'fr')
    assert.deepEqual((await client.listSecrets()).secrets, [{ name: 'B', description: null }])
  })

  test('a conversation whose order is damaged says so, is left out of the list, and can be deleted', async t => {
    const [lost, other] = [newId(), newId()]
    await using server = await restarted(
      async ({ client }) => {
        for (const conversation_id of [lost, other])
          await client.startConversation({ body: anOrder({ conversation_id }) })
      },
      `UPDATE parts SET json = json || ' ' WHERE name = 'order'
         AND conversation = (SELECT no FROM conversations WHERE id = '${lost}')`,
    )
    t.after(() => rm(server.data, { recursive: true, force: true }))
    const { client } = server
    const params = { conversation_id: lost }
    await assert.rejects(client.getConversation({ params }), damaged)
    await assert.rejects(client.startConversation({ body: anOrder({ conversation_id: lost }) }), damaged)
    assert.deepEqual(
      (await client.searchConversations()).items.map(({ id }) => id),
      [other],
    )
    await client.deleteConversation({ params })
    await client.startConversation({ body: anOrder({ conversation_id: lost }) })
  })

  test('a damaged state is folded again, from what was ordered', async t => {
    const conversation_id = newId()
    const order = anOrder({ conversation_id, tags: { a: '1' }, confirmation_policy: { kind: 'ConfirmRisky' } })
    await using server = await restarted(
      async ({ client }) => void (await client.startConversation({ body: order })),
      `UPDATE conversations SET state = '{'`,
    )
    t.after(() => rm(server.data, { recursive: true, force: true }))
    const info = await server.client.getConversation({ params: { conversation_id } })
    assert.deepEqual(info.tags, { a: '1' })
    assert.equal(info.confirmation_policy.kind, 'ConfirmRisky')
  })
})
