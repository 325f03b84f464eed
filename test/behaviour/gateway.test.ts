import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { appInProcess, type OwnApp } from '../support/app.ts'
import { ask } from '../support/hands.ts'
import { call, fail, finish, ModelServer, type Script, type Seen, say, type Turn } from '../support/model-server.ts'
import { until } from '../support/wait.ts'

const HEADER = 'x-openhands-serverconversation-id'

let app: OwnApp
let key: string
let model: ModelServer
/** What the model says next; each test has its own. */
let script: (request: Seen, n: number) => Turn | Promise<Turn>
let asked = 0
before(async () => {
  app = await appInProcess()
  key = readFileSync(app.keyFile!, 'utf8')
  model = await ModelServer.start(((request: Seen) => script(request, asked++)) as Script)
  for (const name of ['fast', 'slow']) await stored('POST', `/api/profiles/${name}`, { llm: model.llm() })
})
after(async () => {
  await app[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

async function stored(method: string, path: string, body: unknown): Promise<void> {
  const { status, text } = await ask(app, method, path, { key, body })
  assert.ok(status < 300, text)
}

const says = (...turns: Turn[]) => {
  asked = 0
  script = (_, n) => turns[n] ?? fail('internal')
}
const chat = (content: unknown, more: object = {}) => ({
  model: 'openhands_fast',
  messages: [{ role: 'user', content }],
  ...more,
})
const complete = (body: object, headers: Record<string, string> = {}) =>
  ask(app, 'POST', '/v1/chat/completions', { body, headers: { Authorization: `Bearer ${key}`, ...headers } })
/** The same over a connection of its own. */
const fetched = (body: object, signal?: AbortSignal) =>
  fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
const conversation = async (id: unknown) => (await ask(app, 'GET', `/api/conversations/${id}`, { key })).body
const textsOf = (seen: Seen | undefined, role: string): string =>
  seen?.messages
    .filter(message => message.role === role)
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    .join('\n') ?? ''

describe('the agent as a model of OpenAI’s interface', () => {
  test('every profile is a model', async () => {
    const { body } = await ask(app, 'GET', '/v1/models', { headers: { Authorization: `Bearer ${key}` } })
    assert.equal(body.object, 'list')
    assert.deepEqual(
      body.data.filter(({ id }: { id: string }) => /fast|slow/.test(id)),
      ['openhands_fast', 'openhands_slow'].map(id => ({ id, object: 'model', created: 0, owned_by: 'openhands' })),
    )
  })

  test('an answer is what the agent finished with, and what was used for it', async () => {
    says(
      say('', { usage: { prompt: 100, completion: 7 }, ...call('think', { thought: 'hm' }) }),
      finish('forty-two', { usage: { prompt: 120, completion: 5 } }),
    )
    const messages = [
      { role: 'system', content: 'Speak like a sailor.' },
      { role: 'user', content: 'an older question' },
      { role: 'assistant', content: 'an older answer' },
      { role: 'developer', content: 'And be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'what is it?' }] },
    ]
    const { status, body, headers } = await complete({ model: 'openhands_fast', messages, temperature: 0, user: 'me' })
    assert.equal(status, 200, JSON.stringify(body))
    const { id, created, ...rest } = body
    assert.match(id, /^chatcmpl-/)
    assert.ok(Math.abs(created - Date.now() / 1_000) < 60)
    assert.deepEqual(rest, {
      object: 'chat.completion',
      model: 'openhands_fast',
      choices: [{ index: 0, message: { role: 'assistant', content: 'forty-two' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 220, completion_tokens: 12, total_tokens: 232 },
    })
    const first = model.requests.at(-2)
    assert.match(textsOf(first, 'system'), /Speak like a sailor\.\s+And be brief\./)
    assert.match(textsOf(first, 'user'), /what is it\?/)
    assert.doesNotMatch(JSON.stringify(first?.messages), /an older/)
    const { title, execution_status, agent } = await conversation(headers[HEADER])
    assert.deepEqual([title, execution_status, agent.llm.usage_id], ['what is it?', 'finished', 'profile:fast'])
  })

  test('the conversation goes on where its id is sent back, with the model that is named, and counts what is new', async () => {
    says(
      finish('one', { usage: { prompt: 10, completion: 1 } }),
      finish('two', { usage: { prompt: 20, completion: 2 } }),
    )
    const first = await complete(chat('first'))
    const id = String(first.headers[HEADER])
    const second = await complete(chat('second', { model: 'openhands_slow' }), {
      'X-OpenHands-ServerConversation-ID': id,
    })
    assert.equal(second.body.choices[0].message.content, 'two')
    assert.equal(second.headers[HEADER], id)
    assert.deepEqual(second.body.usage, { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 })
    assert.match(textsOf(model.requests.at(-1), 'user'), /first[\s\S]*second/)
    assert.equal((await conversation(id)).agent.llm.usage_id, 'profile:slow')
  })

  test('a stream begins at once, and has the answer, the reason, the use and an end', async () => {
    const held = Promise.withResolvers<void>()
    says(finish('in the end', { usage: { prompt: 3, completion: 4 }, delay: held.promise }))
    const response = await fetched(chat('go', { stream: true, stream_options: { include_usage: true } }))
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    assert.match(response.headers.get(HEADER) ?? '', /^[0-9a-f-]{36}$/)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = (await reader.read()).value ?? ''
    assert.match(received, /"role":"assistant"/)
    held.resolve()
    for (let part = await reader.read(); !part.done; part = await reader.read()) received += part.value
    const lines = received.split('\n\n').filter(line => line.startsWith('data: '))
    assert.equal(lines.pop(), 'data: [DONE]')
    const chunks = lines.map(line => JSON.parse(line.slice(6)))
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1)
    assert.ok(chunks.every(({ object, model }) => object === 'chat.completion.chunk' && model === 'openhands_fast'))
    const deltas = chunks.flatMap(({ choices }) => choices)
    assert.equal(deltas.map(({ delta }) => delta.content ?? '').join(''), 'in the end')
    assert.deepEqual(
      deltas.map(({ finish_reason }) => finish_reason),
      [null, null, 'stop'],
    )
    assert.deepEqual(chunks.at(-1).usage, { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 })
  })

  test('what cannot be asked is an error as OpenAI words one', async () => {
    const unknown = await complete(chat('x', { model: 'gpt-5.5' }))
    assert.equal(unknown.status, 404)
    assert.deepEqual(unknown.body.error, {
      message: "The model 'gpt-5.5' does not exist",
      type: 'invalid_request_error',
      param: null,
      code: 'chat_model_not_found',
    })
    assert.equal((await complete(chat('x', { model: 'openhands_nobody' }))).status, 404)
    const lost = await complete(chat('x'), { 'X-OpenHands-ServerConversation-ID': crypto.randomUUID() })
    assert.deepEqual([lost.status, lost.body.error.code], [404, 'conversation_not_found'])
    for (const messages of [[], [{ role: 'system', content: 'x' }], [{ role: 'user', content: '' }]]) {
      const { status, body } = await complete({ model: 'openhands_fast', messages })
      assert.deepEqual([status, body.error.code], [422, 'invalid_request'], JSON.stringify(messages))
    }
    assert.equal((await complete({ model: 'openhands_fast' })).status, 422)
    assert.equal((await complete(chat('x'), { Authorization: 'Bearer wrong' })).status, 401)
  })

  test('an agent that fails is a 500 with the reason, and in a stream an error event', async () => {
    says(fail('auth'), fail('auth'))
    const { status, body, headers } = await complete(chat('x'))
    assert.deepEqual([status, body.error.type], [500, 'api_error'])
    assert.match(body.error.message, /key/i)
    assert.equal((await conversation(headers[HEADER])).execution_status, 'error')
    const streamed = await complete(chat('x', { stream: true }))
    assert.match(streamed.text, /data: \{"error":\{"message":.*"code":"agent_failed"/)
    assert.doesNotMatch(streamed.text, /\[DONE\]/)
  })

  test('an agent that has to ask first is a 409, and its question is not answered by the next message', async () => {
    await stored('PATCH', '/api/settings', {
      conversation_settings_diff: { confirmation_mode: true, security_analyzer: 'none' },
    })
    says(call('terminal', { command: 'touch /tmp/done' }))
    const first = await complete(chat('do it'))
    await stored('PATCH', '/api/settings', { conversation_settings_diff: { confirmation_mode: false } })
    assert.deepEqual([first.status, first.body.error.code], [409, 'agent_waits'])
    const id = String(first.headers[HEADER])
    const before = await conversation(id)
    const again = await complete(chat('go on'), { 'X-OpenHands-ServerConversation-ID': id })
    assert.deepEqual([again.status, again.body.error.code], [409, 'agent_waits'])
    assert.equal(before.execution_status, 'waiting_for_confirmation')
    assert.deepEqual(await conversation(id), before)
  })

  for (const stream of [false, true])
    test(`when the caller leaves, the agent is stopped, and can be told to go on (stream: ${stream})`, async () => {
      says({ stall: 'before' }, finish('after all'))
      const gone = new AbortController()
      const count = model.count
      const left = fetched(chat('take your time', { stream }), gone.signal)
        .then(response => response.text())
        .catch(() => 'left')
      await until('the model is asked', () => model.count > count)
      gone.abort()
      assert.equal(await left, 'left')
      await until('the model is left alone', () => model.requests.at(-1)?.left)
      const { items } = (await ask(app, 'GET', '/api/conversations/search?limit=1', { key })).body
      const paused = await until('it is paused', async () => {
        const info = await conversation(items[0].id)
        return info.execution_status === 'paused' ? info : undefined
      })
      const next = await complete(chat('go on'), { 'X-OpenHands-ServerConversation-ID': paused.id })
      assert.equal(next.body.choices?.[0].message.content, 'after all', next.text)
    })

  test('who brings no key is answered, but is lent nothing that somebody else entered as a secret', async () => {
    await stored('PUT', '/api/settings/secrets', { name: 'MINE', value: 'hush' })
    says(finish('one'), finish('two'))
    const lentTo = async (headers: Record<string, string>) => {
      const { status, headers: told } = await ask(app, 'POST', '/v1/chat/completions', { body: chat('x'), headers })
      assert.equal(status, 200)
      return Object.keys((await conversation(told[HEADER])).secret_registry.secret_sources)
    }
    assert.deepEqual(await lentTo({ Authorization: `Bearer ${key}` }), ['MINE'])
    assert.deepEqual(await lentTo({}), [])
  })

  test('a conversation that is at work is not joined', async () => {
    const held = Promise.withResolvers<void>()
    says(finish('done', { delay: held.promise }))
    const count = model.count
    const first = complete(chat('work'))
    await until('the model is asked', () => model.count > count)
    const { items } = (await ask(app, 'GET', '/api/conversations/search?limit=1', { key })).body
    const second = await complete(chat('me too'), { 'X-OpenHands-ServerConversation-ID': items[0].id })
    assert.deepEqual([second.status, second.body.error.code], [409, 'conversation_running'])
    held.resolve()
    assert.equal((await first).body.choices[0].message.content, 'done')
  })

  test('an agent that takes too long is stopped', async t => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    t.mock.method(AbortSignal, 'timeout', (ms: number) => timeout(ms === 590_000 ? 50 : ms))
    says({ stall: 'before' })
    const { status, body, headers } = await complete(chat('take your time'))
    assert.deepEqual([status, body.error.code], [504, 'completion_timeout'])
    assert.equal((await conversation(headers[HEADER])).execution_status, 'paused')
  })

  test('so many at once, and not one more; a place that is free again is taken', async () => {
    const held = Promise.withResolvers<void>()
    script = () => finish('done', { delay: held.promise })
    const count = model.count
    const all = Array.from({ length: 32 }, () => fetched(chat('work')))
    await until('all models are asked', () => model.count >= count + 32)
    const more = await complete(chat('one more'))
    assert.deepEqual([more.status, more.body.error.type, more.body.retryable], [429, 'rate_limit_error', true])
    held.resolve()
    assert.deepEqual(new Set((await Promise.all(all)).map(({ status }) => status)), new Set([200]))
    assert.equal((await complete(chat('one more'))).status, 200)
  })
})
