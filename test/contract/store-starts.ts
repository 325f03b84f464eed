import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { newId } from '../../src/lib/id.ts'
import type { PendingRow, StartTaskRow } from '../../src/store/store.ts'
import { aConversation, type Opened } from './store.ts'

const DAY = 24 * 3600 * 1_000_000

const aTask = (more: Partial<StartTaskRow> = {}): StartTaskRow => ({
  id: newId(),
  createdAt: 1,
  updatedAt: 1,
  version: 0,
  open: true,
  conversation: newId(),
  key: null,
  json: '{"status":"WORKING"}',
  order: '{"title":"x"}',
  ...more,
})

const aMessage = (conversation: string, more: Partial<PendingRow> = {}): PendingRow => ({
  id: newId(),
  conversation,
  createdAt: 1,
  json: '{}',
  ...more,
})

const isConflict = (error: unknown): boolean => error instanceof Fault && error.code === 'conflict'

/** What every store must do with starts, with what waits to be said, and with filters on conversations. */
export function startsContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name}: starts`, () => {
    test('a start is found by its id, its key and its conversation, also by the next store', async () => {
      await using opened = await open()
      const task = aTask({ key: 'key once' })
      await opened.store.writeStartTask(task)
      const written = { ...task, version: 1 }
      await opened.store.close()
      const store = await opened.reopen()
      assert.deepEqual(await store.startTasks([newId(), task.id]), [undefined, written])
      assert.deepEqual(await store.startTaskByKey('key once'), written)
      assert.deepEqual(await store.startTaskOf(task.conversation), written)
      assert.deepEqual(await store.openStartTasks(), [written])
    })

    test('of two that are put on record under one key at once, one is refused and leaves nothing', async () => {
      await using opened = await open()
      const tasks = [aTask({ key: 'same' }), aTask({ key: 'same' })]
      const written = await Promise.allSettled(tasks.map(task => opened.store.writeStartTask(task)))
      assert.deepEqual(written.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      assert.equal(await opened.store.countStartTasks({}), 1)
    })

    test('a change on an older version is a conflict and changes nothing; one that is over is open no more', async () => {
      await using opened = await open()
      const { store } = opened
      const task = aTask()
      await store.writeStartTask(task)
      const changed = { ...task, json: '{"status":"READY"}', order: '{}', open: false, updatedAt: 9 }
      await store.writeStartTask({ ...changed, version: 1 })
      await assert.rejects(store.writeStartTask({ ...task, version: 1 }), isConflict)
      const [found] = await store.startTasks([task.id])
      assert.deepEqual(found, { ...changed, version: 2 })
      assert.deepEqual(await store.openStartTasks(), [])
    })

    test('pages of starts follow each other without a repeat, in both directions, and filters hold for the count', async () => {
      await using opened = await open()
      const { store } = opened
      const tasks = Array.from({ length: 7 }, (_, i) => aTask({ createdAt: 10 + i }))
      for (const task of tasks) await store.writeStartTask(task)
      const read = async (descending: boolean, more: { limit: number; characters?: number }) => {
        const ids: string[] = []
        for (let from: string | undefined, pages = 0; ; pages++) {
          const { items, next } = await store.searchStartTasks({ descending, ...more, ...(from && { from }) })
          ids.push(...items.map(({ id }) => id))
          assert.ok(items.length > 0 && items.length <= more.limit && pages < 9)
          // One that comes, and one that goes, while somebody turns the pages.
          if (pages === 0 && descending) await store.writeStartTask(aTask({ createdAt: 99 + more.limit }))
          if (!next) return ids
          from = next
        }
      }
      const ids = tasks.map(({ id }) => id)
      assert.deepEqual(await read(false, { limit: 3 }), ids)
      assert.deepEqual(await read(false, { limit: 9, characters: 40 }), ids)
      assert.deepEqual(await read(true, { limit: 3 }), ids.toReversed())
      assert.equal(await store.countStartTasks({ createdFrom: 14 }), 4)
      assert.equal(await store.countStartTasks({ conversation: tasks[2]!.conversation, createdFrom: 13 }), 0)
    })

    test('starts that ended long ago go as new ones come; those under way stay', async () => {
      await using opened = await open()
      const { store } = opened
      const [old, going, young] = [aTask(), aTask(), aTask({ createdAt: 20 * DAY })]
      for (const task of [old, going, young]) await store.writeStartTask(task)
      for (const task of [old, young]) await store.writeStartTask({ ...task, version: 1, open: false })
      await store.writeStartTask(aTask({ createdAt: 40 * DAY }))
      const found = await store.startTasks([old.id, going.id, young.id])
      assert.deepEqual(
        found.map(task => task !== undefined),
        [false, true, true],
      )
    })

    test('what waits to be said keeps its order, stops at the limit, and goes one by one', async () => {
      await using opened = await open()
      const { store } = opened
      const conversation = newId()
      const messages = [aMessage(conversation, { createdAt: 5 }), aMessage(conversation, { createdAt: 3 })]
      assert.deepEqual(await Promise.all(messages.map(message => store.addPending(message, 2))), [1, 2])
      assert.equal(await store.addPending(aMessage(conversation), 2), 0)
      assert.equal(await store.addPending(aMessage(newId()), 2), 1)
      assert.deepEqual(await store.pendingMessages(conversation), messages)
      assert.equal(await store.deletePending(messages[0]!.id), true)
      assert.equal(await store.deletePending(messages[0]!.id), false)
      assert.deepEqual(await store.pendingMessages(conversation), [messages[1]])
      assert.equal((await store.conversationsWithPending()).length, 2)
    })

    test('with a conversation go its finished starts and what waited to be said in it', async () => {
      await using opened = await open()
      const { store } = opened
      const conversation = aConversation()
      await store.createConversation(conversation, [])
      const task = aTask({ conversation: conversation.id })
      await store.writeStartTask(task)
      await store.writeStartTask({ ...task, version: 1, open: false })
      await store.addPending(aMessage(conversation.id), 10)
      await store.deleteConversation(conversation.id)
      assert.deepEqual(await store.startTasks([task.id]), [undefined])
      assert.deepEqual(await store.conversationsWithPending(), [])
    })

    test('a page of conversations goes on where it stood, also when who stood there is gone or has changed', async () => {
      await using opened = await open()
      const { store } = opened
      const made = Array.from({ length: 5 }, (_, i) => aConversation({ createdAt: 10 + i, updatedAt: 20 + i }))
      for (const conversation of made) await store.createConversation(conversation, [])
      for (const order of ['created', 'updated'] as const) {
        const query = { order, descending: false, limit: 2 }
        const { next } = await store.searchConversations(query)
        await store.deleteConversation(made[2]!.id)
        const { items } = await store.searchConversations({ ...query, from: next! })
        assert.deepEqual(
          items.map(({ id }) => id),
          [made[3]!.id, made[4]!.id],
        )
      }
    })

    test('conversations are filtered by title, times, sandbox and parent, and counted by the same rule', async () => {
      await using opened = await open()
      const { store } = opened
      const parent = aConversation({ title: 'Fix 100% of_it!', createdAt: 10, updatedAt: 50, sandbox: 'a' })
      const child = aConversation({
        title: 'fix more',
        createdAt: 20,
        updatedAt: 40,
        parentId: parent.id,
        sandbox: 'a',
      })
      const other = aConversation({ createdAt: 30, updatedAt: 30, sandbox: 'b' })
      for (const conversation of [parent, child, other]) await store.createConversation(conversation, [])
      const ask = async (filter: object) => {
        const { items } = await store.searchConversations({ order: 'created', descending: false, limit: 9, ...filter })
        assert.equal(await store.countConversations(filter), items.length)
        return items.map(({ id }) => [parent, child, other].findIndex(one => one.id === id))
      }
      assert.deepEqual(await ask({ title: 'FIX' }), [0, 1])
      assert.deepEqual(await ask({ title: '100%' }), [0])
      assert.deepEqual(await ask({ title: '%' }), [0])
      assert.deepEqual(await ask({ title: 'f_it' }), [0])
      assert.deepEqual(await ask({ title: 'o__it' }), [])
      assert.deepEqual(await ask({ title: '!' }), [0])
      assert.deepEqual(await ask({ top: true }), [0, 2])
      assert.deepEqual(await ask({ createdFrom: 20 }), [1, 2])
      assert.deepEqual(await ask({ createdBefore: 20 }), [0])
      assert.deepEqual(await ask({ updatedFrom: 40, updatedBefore: 50 }), [1])
      assert.deepEqual(await ask({ sandbox: 'a', top: true, title: 'fix' }), [0])
    })
  })
}
