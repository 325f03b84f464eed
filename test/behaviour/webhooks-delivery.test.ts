import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { retryAfterMs, waitBefore } from '../../src/webhooks/patience.ts'
import { count } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { type Answer, WebhookReceiver } from '../support/webhook-receiver.ts'
import { inAHurry, Told } from '../support/webhooks.ts'

const idsOf = (events: { id: string }[]): string[] => events.map(({ id }) => id)

describe('what is told at a time', { concurrency: 4 }, () => {
  test('events wait until there are enough of them', async () => {
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver, { flush_delay: 3600, event_buffer_size: 10 })])
    const id = await told.start()
    for (let i = 0; i < 12; i++) await told.say(id)
    await until('the first are told', () => receiver.eventsOf(id).length > 0)
    assert.ok(receiver.batchesOf(id)[0]!.events.length >= 10)
  })

  test('fewer are told after a while', async () => {
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver, { flush_delay: 0.3, event_buffer_size: 10 })])
    const id = await told.start()
    await told.everything()
    for (let i = 0; i < 3; i++) await told.say(id)
    await told.everything()
    assert.deepEqual(
      receiver.batchesOf(id).map(({ events }) => events.length),
      [3],
    )
  })

  test('no request holds more bytes than it may, unless a single event does', async () => {
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver, { max_batch_bytes: 1200 })])
    const id = await told.start(20)
    await told.everything()
    assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
    const sizes = receiver.batchesOf(id).map(({ events }) => JSON.stringify(events).length)
    assert.ok(sizes.length < 20 && sizes.every(size => size <= 1200), sizes.join(' '))
    await using narrow = await told.reopen([inAHurry(receiver, { max_batch_bytes: 1 })])
    await narrow.say(id, 3)
    await narrow.everything()
    assert.deepEqual(idsOf(receiver.eventsOf(id)), await narrow.idsOf(id))
  })

  test('changes of a conversation that come together are one report, and none is missed', async () => {
    await using receiver = await WebhookReceiver.start()
    const held = Promise.withResolvers<void>()
    receiver.answer = async () => {
      await held.promise
      return 200
    }
    await using told = await Told.open([inAHurry(receiver)])
    const id = await told.start()
    await until('the first report is under way', () => receiver.received.length === 1)
    for (let i = 1; i <= 20; i++) await told.rename(id, `title ${i}`)
    held.resolve()
    await told.everything()
    assert.deepEqual(
      receiver.reportsOf(id).map(({ title }) => title),
      [null, 'title 20'],
    )
  })

  test('however many conversations it is behind with, only a few are told at the same time', async () => {
    const many = count({ sample: 60, deep: 2000 })
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver)])
    const { id: webhook } = await told.webhook()
    await told.webhooks.pause(webhook)
    const ids = await Promise.all(Array.from({ length: many }, () => told.start(3)))
    assert.equal((await told.webhook()).pending_conversations, many)
    const held = Promise.withResolvers<number>()
    receiver.answer = () => (receiver.taken.length > 0 ? 200 : held.promise)
    await told.webhooks.resume(webhook)
    await until('four wait for an answer', () => receiver.received.length === 4)
    held.resolve(200)
    await told.everything(60_000)
    for (const id of ids) assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
    assert.equal(receiver.mostAtOnce, 4)
    assert.equal(receiver.overlaps, 0)
  })
})

describe('a receiver that is not well', { concurrency: 4 }, () => {
  test('whatever it answers, each event arrives once, in order, one request at a time; no redirect is followed', async () => {
    await using receiver = await WebhookReceiver.start()
    await using elsewhere = await WebhookReceiver.start()
    const away = { status: 307, headers: { Location: `${elsewhere.url}/conversations` } }
    const answers: Answer[] = [500, 'break', away, 404, 200, 503, 'break', 400, 408]
    receiver.answer = () => answers.shift() ?? 200
    await using told = await Told.open([inAHurry(receiver, { num_retries: 9 })])
    const id = await told.start(12)
    await told.everything()
    assert.equal(answers.length, 0)
    assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
    assert.equal(receiver.overlaps, 0)
    assert.equal(elsewhere.received.length, 0)
    const { status, last_error } = await told.webhook()
    assert.deepEqual([status, last_error?.status], ['ok', 408])
  })

  test('one that asks for time gets it, for all conversations', async () => {
    await using receiver = await WebhookReceiver.start()
    const answers: Answer[] = [{ status: 429, headers: { 'Retry-After': '1' } }]
    receiver.answer = () => answers.shift() ?? 200
    await using told = await Told.open([inAHurry(receiver)])
    await told.start()
    await until('it was asked', () => receiver.received.length === 1)
    const asked = performance.now()
    await told.start()
    await until('it is asked again', () => receiver.received.length > 1)
    assert.ok(performance.now() - asked > 900)
    await told.everything()
  })

  test('a conversation that is never taken holds up no other one', async () => {
    await using receiver = await WebhookReceiver.start()
    const poison = newId()
    receiver.answer = ({ body }) => (body.includes(poison) ? 422 : 200)
    await using told = await Told.open([inAHurry(receiver)])
    await told.start(3, poison)
    await until('it failed', async () => (await told.webhook()).failing_conversations === 1)
    const id = await told.start(3)
    await until('the other is told', () => receiver.eventsOf(id).length === 3)
    const { status, last_error } = await told.webhook()
    assert.deepEqual([status, last_error?.status, last_error?.message], ['failing', 422, 'It answered 422'])
  })

  test('one that is down is suspended, visibly, and told everything once it is back and resumed', async () => {
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver, { num_retries: 20 })])
    await receiver.down()
    const id = await told.start(5)
    await until('it is suspended', async () => (await told.webhook()).status === 'suspended')
    const { id: webhook, last_error, oldest_pending_at } = await told.webhook()
    assert.match(last_error?.message ?? '', /ECONNREFUSED/)
    assert.ok(oldest_pending_at)
    await receiver.up()
    await told.webhooks.resume(webhook)
    await told.everything()
    assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
    assert.equal((await told.webhook()).status, 'ok')
  })

  test('one that is suspended is tried with one request at a time, and goes on by itself when it is back', async () => {
    await using receiver = await WebhookReceiver.start()
    receiver.answer = () => 500
    await using told = await Told.open([inAHurry(receiver, { num_retries: 20 })])
    const first = await told.start(2)
    await until('it is suspended', async () => (await told.webhook()).status === 'suspended')
    const held = Promise.withResolvers<number>()
    receiver.answer = () => held.promise
    assert.equal(receiver.received.length, 10)
    const ids = [first, ...(await Promise.all(Array.from({ length: 20 }, () => told.start(2))))]
    await until('it is tried', () => receiver.received.length > 10)
    await told.start()
    assert.equal(receiver.received.length, 11)
    receiver.answer = () => 200
    held.resolve(200)
    await told.everything()
    for (const id of ids) assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
  })

  test('one that says it is gone is paused, also after a restart, until it is resumed', async () => {
    await using receiver = await WebhookReceiver.start()
    receiver.answer = () => 410
    await using first = await Told.open([inAHurry(receiver)])
    const id = await first.start(3)
    await until('it is paused', async () => (await first.webhook()).status === 'paused')
    receiver.answer = () => 200
    await using told = await first.reopen([inAHurry(receiver)])
    const { id: webhook, status, last_error } = await told.webhook()
    assert.deepEqual([status, last_error?.status], ['paused', 410])
    await told.say(id, 10)
    assert.equal(receiver.taken.length, 0)
    await told.webhooks.resume(webhook)
    await told.everything()
    assert.deepEqual(idsOf(receiver.eventsOf(id)), await told.idsOf(id))
  })

  test("a cloud's metadata service is not called", async () => {
    await using told = await Told.open([inAHurry({ url: 'http://169.254.169.254/latest' })])
    await told.start()
    const error = await until('it failed', async () => (await told.webhook()).last_error)
    assert.match(error.message, /metadata/)
  })

  test('what is deleted and begun again under the same id is told in that order', async () => {
    await using receiver = await WebhookReceiver.start()
    await using told = await Told.open([inAHurry(receiver, { num_retries: 9 })])
    const id = await told.start(2)
    await told.everything()
    const answers: Answer[] = [500, 500]
    receiver.answer = () => answers.shift() ?? 200
    await told.store.deleteConversation(id, JSON.stringify({ id, execution_status: 'deleting' }))
    await told.start(2, id)
    await told.everything()
    assert.deepEqual(
      receiver.reportsOf(id).map(({ execution_status }) => execution_status),
      ['idle', 'deleting', 'idle'],
    )
  })
})

describe('which webhooks there are', { concurrency: 4 }, () => {
  test('a new one is told what happens from then on; one that was removed is owed nothing when it comes back', async () => {
    await using receiver = await WebhookReceiver.start()
    await using before = await Told.open([])
    const id = await before.start(5)
    await using during = await before.reopen([inAHurry(receiver)])
    await during.say(id, 3)
    await during.everything()
    assert.deepEqual(idsOf(receiver.eventsOf(id)), (await during.idsOf(id)).slice(5))
    assert.equal(receiver.batchesOf(id)[0]?.position, 6)
    await receiver.down()
    await during.say(id, 3)
    await until('it failed', async () => (await during.webhook()).failing_conversations === 1)
    await using without = await during.reopen([])
    assert.deepEqual(await without.webhooks.list(), [])
    await using again = await without.reopen([inAHurry(receiver)])
    const { pending_conversations, delivered, status } = await again.webhook()
    assert.deepEqual([pending_conversations, delivered, status], [0, 0, 'ok'])
  })

  test('each has its own pace: one that is down holds up no other', async () => {
    await using well = await WebhookReceiver.start()
    await using ill = await WebhookReceiver.start()
    await ill.down()
    await using told = await Told.open([inAHurry(ill), inAHurry(well)])
    const id = await told.start(5)
    await until('the other is told', () => well.eventsOf(id).length === 5)
    assert.deepEqual(
      (await told.webhooks.list()).map(({ status }) => status),
      ['failing', 'ok'],
    )
  })
})

describe('how long is waited', () => {
  const spec = { num_retries: 3, retry_delay: 5 }

  test('at a steady pace first, then ever longer up to five minutes, never all at the same moment', () => {
    const waits = (chance: number) => [1, 3, 4, 5, 40].map(tries => waitBefore(tries, spec, 0, chance) / 1000)
    assert.deepEqual(waits(0), [5, 5, 5, 10, 150])
    assert.deepEqual(waits(1), [5, 5, 10, 20, 300])
  })

  test('as long as was asked for, within reason', () => {
    assert.equal(waitBefore(1, spec, 60_000, 0), 60_000)
    assert.equal(waitBefore(1, spec, 1_000, 0), 5_000)
    assert.equal(waitBefore(1, spec, Number.MAX_VALUE, 0), 3_600_000)
  })

  test('what is asked for is in seconds or a date; anything else asks for nothing', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    const asked = ['7', 'Thu, 01 Jan 2026 00:01:00 GMT', 'Wed, 31 Dec 2025 00:00:00 GMT', 'soon', '-1', null]
    assert.deepEqual(
      asked.map(header => retryAfterMs(header, now)),
      [7_000, 60_000, 0, 0, 0, 0],
    )
  })
})
