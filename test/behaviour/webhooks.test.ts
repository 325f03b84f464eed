import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { BadUsage, helpText, readConfig } from '../../src/config.ts'
import { newId } from '../../src/lib/id.ts'
import { Random } from '../support/random.ts'
import { endSandboxes } from '../support/sandboxes.ts'
import { aMessage, anOrder, count, type TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { WebhookReceiver } from '../support/webhook-receiver.ts'
import { allTold, complete, inAHurry, startTold, webhookOf } from '../support/webhooks.ts'

const hi = { initial_message: aMessage('help') }

describe('what a webhook is told', () => {
  test('the conversation first, then each event once, in log order, with null fields, and how it is at last', async () => {
    await using receiver = await WebhookReceiver.start()
    await using server = await startTold([inAHurry(receiver)])
    const { id } = await server.client.startConversation({ body: anOrder(hi) })
    const params = { conversation_id: id }
    await server.atRest(id)
    await allTold(server)
    const log = await complete(server, id)
    assert.ok(log.length >= 4)
    assert.deepEqual(receiver.eventsOf(id), log)
    assert.equal(receiver.taken[0]?.path, '/hooks/conversations')
    const info = await server.client.getConversation({ params, query: { include_skills: true } })
    const last = () => receiver.reportsOf(id).at(-1)
    assert.deepEqual(last(), { ...info, sub_conversation_ids: [] })
    const { delivered, status, last_error } = await webhookOf(server)
    assert.deepEqual({ status, last_error }, { status: 'ok', last_error: null })
    assert.equal(delivered, receiver.reportsOf(id).length + log.length)

    await server.client.updateConversation({ params, body: { title: 'A title' } })
    await until('the title is told', () => last()?.title === 'A title')
    await server.client.updateConversation({ params, body: { tags: { a: 'tag' } } })
    await until('the tags are told', () => last()?.tags.a === 'tag')
    await server.client.deleteConversation({ params })
    await until('the end is told', () => last()?.execution_status === 'deleting')
    await allTold(server)
    assert.equal(last()?.title, 'A title')
    assert.match(await (await server.client.metrics()).text(), /^gantry_webhook_lag_seconds \d/m)
  })

  test('it is authenticated by the configured key, or by a signature, and what is secret shows nowhere', async () => {
    await using known = await WebhookReceiver.start()
    await using signed = await WebhookReceiver.start()
    const secret = 'a-secret-to-sign-with'
    const headers = { Authorization: 'Bearer of-theirs' }
    const env = { SESSION_API_KEY: 'the-configured-key' }
    await using server = await startTold([inAHurry(known, { headers }), inAHurry(signed, { headers, secret })], { env })
    await server.client.startConversation({ body: anOrder() })
    const one = await until('the first is told', () => known.taken[0])
    const other = await until('the second is told', () => signed.taken[0])
    for (const { headers } of [one, other]) {
      assert.equal(headers.authorization, 'Bearer of-theirs')
      assert.equal(headers['content-type'], 'application/json')
    }
    assert.equal(one.headers['x-session-api-key'], 'the-configured-key')
    assert.equal(one.headers['x-gantry-signature'], undefined)
    assert.equal(other.headers['x-session-api-key'], undefined)
    const stamp = other.headers['x-gantry-timestamp']
    const hmac = createHmac('sha256', secret).update(`${stamp}.${other.body}`).digest('hex')
    assert.equal(other.headers['x-gantry-signature'], `sha256=${hmac}`)
    await known.down()
    await server.client.startConversation({ body: anOrder() })
    await until('one fails', async () => (await server.client.listWebhooks()).some(({ last_error }) => last_error))
    const shown = JSON.stringify(await server.client.listWebhooks()) + server.output
    assert.ok(shown.includes(known.url) && shown.includes('ECONNREFUSED'))
    for (const word of [secret, 'of-theirs', 'the-configured-key']) assert.ok(!shown.includes(word))
  })

  test('a key that we made is told to nobody; a receiver that never answers holds up no run, and no stop', async () => {
    await using receiver = await WebhookReceiver.start()
    receiver.answer = () => 'hang'
    await using server = await startTold([inAHurry(receiver)])
    const { id } = await server.client.startConversation({ body: anOrder(hi) })
    assert.equal((await server.atRest(id)).execution_status, 'finished')
    const { headers } = await until('it is asked', () => receiver.received[0])
    assert.equal(headers['x-session-api-key'], undefined)
    assert.equal((await webhookOf(server)).pending_conversations, 1)
    await assert.rejects(server.client.pauseWebhook({ params: { webhook_id: 'nothing' } }), /Webhook not found/)
    assert.equal(await server.stop(), 0)
  })
})

describe('kill -9', () => {
  /** Talks until nobody answers any more. Tells what was acknowledged. */
  async function talk(server: TestServer, ids: Set<string>): Promise<void> {
    for (;;) {
      const conversation_id = newId()
      await server.client.startConversation({ body: anOrder({ conversation_id, ...hi }) })
      ids.add(conversation_id)
      for (let i = 0; i < 3; i++) await server.client.sendMessage({ params: { conversation_id }, body: aMessage('hi') })
    }
  }

  test('whenever it comes, nothing is lost or out of order, and the end of a conversation is told', async () => {
    const random = new Random()
    await using receiver = await WebhookReceiver.start()
    const data = await tempFolder()
    const ids = new Set<string>()
    const terms = [inAHurry(receiver, { event_buffer_size: 2 })]
    for (let round = 0; round < count({ sample: 2, deep: 30 }); round++) {
      await using server = await startTold(terms, { data })
      const last = receiver.received.length + 1 + random.int(25)
      // Before it is taken, or after, when the server may or may not have heard of it.
      const late = random.int(2) === 0
      receiver.answer = () => {
        if (receiver.received.length === last) {
          if (!late) server.process.kill('SIGKILL')
          else setImmediate(() => server.process.kill('SIGKILL'))
        }
        return 200
      }
      await Promise.all([talk(server, ids), talk(server, ids)].map(talking => talking.catch(() => undefined)))
      assert.equal(await server.stop(), 'SIGKILL', `seed ${random.seed}`)
    }
    receiver.answer = () => 200
    await using before = await startTold(terms, { data })
    await receiver.down()
    const [deleted = ''] = ids
    await before.client.deleteConversation({ params: { conversation_id: deleted } })
    await before.stop('SIGKILL')
    await receiver.up()
    await using server = await startTold(terms, { data })
    for (const id of ids) if (id !== deleted) await server.atRest(id)
    await allTold(server, 30_000)
    assert.ok(ids.size > 0)
    for (const id of ids) {
      const reports = receiver.reportsOf(id)
      const { execution_status } = reports.at(-1) ?? assert.fail(`${id} was never reported, seed ${random.seed}`)
      if (id === deleted) assert.equal(execution_status, 'deleting')
      else assert.deepEqual(receiver.logOf(id), await complete(server, id), `seed ${random.seed}`)
    }
    await server.stop('SIGKILL')
    await endSandboxes(data)
    await rm(data, { recursive: true, force: true })
  })
})

describe('the configuration of webhooks', () => {
  const webhooksOf = (env: Record<string, string>) => {
    const command = readConfig([], env)
    return 'config' in command ? command.config.webhooks : assert.fail('no configuration')
  }
  const base_url = 'https://example.com/hooks'

  test('as a JSON list, item by item, or field by field', () => {
    const [whole] = webhooksOf({ OH_WEBHOOKS: JSON.stringify([{ base_url, headers: { a: 'b' }, flush_delay: 0.5 }]) })
    assert.deepEqual([whole?.base_url, whole?.headers, whole?.flush_delay], [base_url, { a: 'b' }, 0.5])
    const [first, second, ...others] = webhooksOf({
      OH_WEBHOOKS_0_BASE_URL: `${base_url}/0`,
      OH_WEBHOOKS_0_HEADERS: '{"a":"b"}',
      OH_WEBHOOKS_0_FLUSH_DELAY: '0.5',
      OH_WEBHOOKS_0_MAX_QUEUE_SIZE: '7',
      OH_WEBHOOKS_1: JSON.stringify({ base_url: `${base_url}/1`, num_retries: 1 }),
      OH_WEBHOOKS_1_NUM_RETRIES: '2',
      OH_WEBHOOKS_3_BASE_URL: 'never read, for there is no second',
    })
    assert.deepEqual([first?.base_url, first?.headers, first?.flush_delay], [`${base_url}/0`, { a: 'b' }, 0.5])
    assert.deepEqual([first?.event_buffer_size, first?.max_batch_bytes], [5, 5 * 1024 * 1024])
    assert.deepEqual([second?.base_url, second?.num_retries, second?.flush_delay], [`${base_url}/1`, 2, 30])
    assert.deepEqual(others, [])
    assert.deepEqual(webhooksOf({}), [])
  })

  test('what is wrong is refused in a line that repeats nothing secret', () => {
    const hidden = 'hidden-hidden-hidden'
    const wrong = [
      [{ base_url: `https://user:${hidden}@example.com` }],
      [{ base_url: `https://example.com?token=${hidden}` }],
      [{ base_url: `ftp://example.com/${hidden}` }],
      [{ base_url, headers: { a: `${hidden}\nb` } }],
      [{ base_url, headers: { [`${hidden} `]: 'b' } }],
      [{ base_url, secret: hidden.slice(0, 10) }],
      [{ base_url, flush_delay: 0 }],
      [{ base_url, unknown: hidden }],
      [{ base_url }, { base_url: `${base_url}/` }],
      hidden,
    ]
    for (const value of wrong)
      assert.throws(
        () => webhooksOf({ OH_WEBHOOKS: typeof value === 'string' ? value : JSON.stringify(value) }),
        error => error instanceof BadUsage && !error.message.includes('hidden') && !error.message.includes('\n'),
      )
    assert.match(helpText(), /OH_WEBHOOKS_0_BASE_URL/)
  })
})
