import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import { Line } from '../../src/agent/models/line.ts'
import { opened } from '../contract/model.ts'
import { ModelServer } from '../support/model-server.ts'
import { call, say } from '../support/model-turns.ts'

const CHAT = { protocol: 'chat' } as const

test('Once it has spoken, a model may be silent for less long than before its first word', async () => {
  await using server = await ModelServer.start([say('Half of it', { chunks: 4, stall: 'middle' })])
  const options = { fetch, firstMs: 60_000, silenceMs: 100, edit: undefined, signal: new AbortController().signal }
  using line = new Line(options)
  const response = await line.fetch(`${server.openai}/chat/completions`, { method: 'POST', body: '{"stream":true}' })
  line.spoken()
  const error = await line.whole(response.text()).catch(error => error)
  assert.ok(error instanceof ModelError)
  assert.equal(error.code, 'LLMTimeoutError')
})

test('A model that floods is cut off', async () => {
  await using asked = await opened(CHAT, [{ raw: ': still here\n\n'.repeat(5_500_000) }])
  const error = await asked.ask().catch(error => error)
  assert.equal(error.code, 'LLMServiceUnavailableError')
  assert.match(error.message, /more than any answer/)
})

test('A redirect is not followed: the key is for the one the order names', async () => {
  await using elsewhere = await ModelServer.start(() => say('Thank you for the key'))
  const headers = { location: `${elsewhere.openai}/chat/completions` }
  for (const status of [301, 307, 308]) {
    await using asked = await opened(CHAT, [{ status, headers, raw: '' }])
    const error = await asked.ask().catch(error => error)
    assert.equal(error.code, 'LLMBadRequestError')
    assert.match(error.message, /base_url/)
  }
  assert.equal(elsewhere.count, 0)
})

test('An address that is never called is refused for good, one that cannot be found only for now', async () => {
  const reach = async (base_url: string) => {
    await using asked = await opened(CHAT, [], { base_url })
    return await asked.ask().catch(error => error)
  }
  const metadata = await reach('http://169.254.169.254/v1')
  assert.equal(metadata.code, 'LLMBadRequestError')
  assert.match(metadata.message, /metadata/)
  assert.equal((await reach('http://127.0.0.1:1/v1')).retryable, false)
  const lost = await reach('http://no-such-host.invalid/v1')
  assert.equal(lost.code, 'LLMServiceUnavailableError')
  assert.match(lost.message, /No address is known/)
})

test('Two calls with one id become two', async () => {
  const calls = [1, 2].map(n => ({ name: 'look', arguments: { n }, id: 'same' }))
  await using asked = await opened(CHAT, [{ calls }], { stream: false })
  const { calls: made } = await asked.ask()
  assert.deepEqual(
    made.map(({ arguments: text }) => text),
    ['{"n":1}', '{"n":2}'],
  )
  assert.notEqual(made[0]?.id, made[1]?.id)
})

test('Arguments that are rubbish arrive as the model wrote them', async () => {
  for (const text of ['{"where":', 'not json', '[1]', '"x"']) {
    await using asked = await opened(CHAT, [call('look', text, { chunks: 2 })])
    assert.equal((await asked.ask()).calls[0]?.arguments, text)
  }
})

test('Answers without an id get one of their own', async () => {
  const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }
  await using asked = await opened(CHAT, () => ({ raw: `data: ${JSON.stringify(chunk)}\n\n` }))
  const [one, other] = [await asked.ask(), await asked.ask()]
  assert.ok(one.id && other.id && one.id !== other.id)
})

test('Many questions at once are each answered with their own', async () => {
  await using asked = await opened(CHAT, ({ body }) => say(`You said ${body.messages.at(-1).content}`, { chunks: 5 }))
  const questions = Array.from({ length: 50 }, (_, i) => `number ${i}`)
  const ask = (text: string) =>
    asked.ask({
      messages: [{ role: 'user', content: [{ type: 'text', text, cache_prompt: false }], thinking_blocks: [] }],
      tools: [],
    })
  const replies = await Promise.all(questions.map(ask))
  assert.deepEqual(
    replies.map(({ text }) => text),
    questions.map(text => `You said ${text}`),
  )
})
