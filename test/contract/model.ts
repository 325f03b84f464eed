import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  type Delta,
  type Model,
  ModelError,
  type ModelErrorCode,
  type ModelRequest,
  type Reply,
} from '../../src/agent/model.ts'
import { makeOpenModel } from '../../src/agent/models/open.ts'
import type { Message } from '../../src/api/common.ts'
import { LLM } from '../../src/api/llm.ts'
import { guardedFetch } from '../../src/sandbox/egress/fetch.ts'
import { ModelServer, type Protocol, type Script, type Seen } from '../support/model-server.ts'
import { call, type Fault, fail, say, type Turn } from '../support/model-turns.ts'
import { sampled } from '../support/sampled.ts'
import { until } from '../support/wait.ts'

export interface Provider {
  protocol: Protocol
  /** What the order says beside address and key. */
  order?: Record<string, unknown>
  /** Where its base URL differs from the protocol's. */
  path?: string
  /** Whether ids of calls are the provider's. */
  ids?: boolean
  /** Whether it says so when it withholds an answer. */
  withholds?: boolean
  /** Whether it tells what was read from a cache, and what was written to one. */
  caches?: 'read' | 'both'
}

export const KEY = 'sk-secret-7f3a9c'

export const message = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text, cache_prompt: false }],
  thinking_blocks: [],
  ...more,
})

export const LOOK = {
  name: 'look',
  description: 'Looks somewhere',
  parameters: { type: 'object', properties: { where: { type: 'string' } }, required: ['where'] },
}

const ASK: ModelRequest = { messages: [message('system', 'Be brief.'), message('user', 'Hello')], tools: [LOOK] }

export interface Asked {
  server: ModelServer
  model: Model
  ask(request?: ModelRequest, signal?: AbortSignal): Promise<Reply>
  deltas: Delta[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function opened(provider: Provider, script: Script, extra: Record<string, unknown> = {}): Promise<Asked> {
  const server = await ModelServer.start(script)
  const { protocol, path, order } = provider
  const base = path === undefined ? {} : { base_url: `${server.url}${path}` }
  const llm = server.llmFor(protocol, { api_key: KEY, stream: true, ...base, ...order, ...extra })
  const { timeout } = extra
  const parsed = LLM.parse({ ...llm, timeout: 300 })
  // In fractions of a second, which no client may order.
  const line = guardedFetch()
  const model = await makeOpenModel({ fetch: line.fetch })({
    ...parsed,
    ...(typeof timeout === 'number' && { timeout }),
  })
  const deltas: Delta[] = []
  return {
    server,
    model,
    deltas,
    ask: (request = ASK, signal = new AbortController().signal) =>
      model.ask(request, delta => deltas.push(delta), signal),
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await line.close()
    },
  }
}

async function failure(asked: Asked, signal?: AbortSignal): Promise<ModelError> {
  const error = await asked.ask(undefined, signal).then(
    reply => assert.fail(`Answered: ${JSON.stringify(reply)}`),
    error => error,
  )
  if (!(error instanceof ModelError)) throw error
  assert.ok(error.message.length > 10)
  assert.ok(!error.message.includes(KEY), 'The key is in the message')
  return error
}

/** The frames of an answer, as they travel. */
async function bodyOf(server: ModelServer, protocol: Protocol): Promise<string[]> {
  const paths = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    anthropic: '/v1/messages',
    gemini: '/v1beta/models/scripted:streamGenerateContent',
  }
  const init = { method: 'POST', body: JSON.stringify({ stream: true, stream_options: { include_usage: true } }) }
  const text = await (await fetch(server.url + paths[protocol], init)).text()
  return text.split(/(?<=\n\n)/)
}

const FAULTS: [Fault, ModelErrorCode][] = [
  ['auth', 'LLMAuthenticationError'],
  ['forbidden', 'LLMAuthenticationError'],
  ['rate', 'LLMRateLimitError'],
  ['quota', 'LLMQuotaExceededError'],
  ['context', 'LLMContextWindowExceedError'],
  ['policy', 'LLMContentPolicyViolationError'],
  ['history', 'LLMMalformedConversationHistoryError'],
  ['unknownModel', 'LLMBadRequestError'],
  ['overloaded', 'LLMServiceUnavailableError'],
  ['internal', 'LLMServiceUnavailableError'],
]

const STATUSES: [number, ModelErrorCode][] = [
  [301, 'LLMBadRequestError'],
  [400, 'LLMBadRequestError'],
  [401, 'LLMAuthenticationError'],
  [402, 'LLMQuotaExceededError'],
  [403, 'LLMAuthenticationError'],
  [404, 'LLMBadRequestError'],
  [408, 'LLMTimeoutError'],
  [413, 'LLMContextWindowExceedError'],
  [422, 'LLMBadRequestError'],
  [429, 'LLMRateLimitError'],
  [500, 'LLMServiceUnavailableError'],
  [502, 'LLMServiceUnavailableError'],
  [503, 'LLMServiceUnavailableError'],
  [504, 'LLMTimeoutError'],
  [529, 'LLMServiceUnavailableError'],
]

/** What every provider must do, streamed or not. */
export function modelContract(name: string, provider: Provider): void {
  const test = sampled(3)
  for (const stream of [true, false])
    describe(`${name}, ${stream ? 'streamed' : 'whole'}`, () => {
      const open = (script: Script, extra: Record<string, unknown> = {}) =>
        opened(provider, script, { stream, ...extra })
      const telling = async (turn: Turn, extra?: Record<string, unknown>) => {
        await using asked = await open([turn], extra)
        return await failure(asked)
      }

      test('Text comes whole, and in deltas where these are asked for', async () => {
        await using asked = await open([say('Hello to you', { chunks: 4 })])
        const reply = await asked.ask()
        assert.equal(reply.text, 'Hello to you')
        assert.notEqual(reply.id, '')
        assert.deepEqual([reply.cut, reply.refused, reply.calls, reply.thinking], [false, false, [], []])
        assert.ok(reply.latencyMs > 0)
        const heard = asked.deltas.map(delta => delta.content)
        assert.deepEqual(heard, stream ? ['Hel', 'lo ', 'to ', 'you'] : [])
      })

      test('The system, the question and the tools are told, under the name of the model and with the key', async () => {
        await using asked = await open([say('Hi')])
        await asked.ask()
        const [seen] = asked.server.requests
        assert.match(JSON.stringify(seen?.headers), new RegExp(KEY))
        const body = JSON.stringify(seen?.body)
        for (const word of ['Be brief.', 'Hello', 'Looks somewhere', 'where']) assert.ok(body.includes(word), word)
        assert.equal(seen?.model, 'scripted')
      })

      test('Several calls come with their own ids and with their arguments as they were written', async () => {
        const calls = [
          { name: 'look', arguments: { where: 'here "and" there' }, id: 'call_aaaaa' },
          { name: 'look', arguments: {}, id: 'call_bbbbb' },
          { name: 'unheard_of', arguments: { deep: { list: [1, null, 'x'] } }, id: 'call_ccccc' },
        ]
        await using asked = await open([{ text: 'Looking', calls, chunks: 5 }])
        const reply = await asked.ask()
        assert.equal(reply.text, 'Looking')
        assert.deepEqual(
          reply.calls.map(made => [made.name, JSON.parse(made.arguments)]),
          calls.map(made => [made.name, made.arguments]),
        )
        assert.equal(new Set(reply.calls.map(({ id }) => id)).size, 3)
        if (provider.ids !== false)
          assert.deepEqual(
            reply.calls.map(({ id }) => id),
            calls.map(({ id }) => id),
          )
        const origin = provider.protocol === 'responses' ? 'responses' : 'completion'
        assert.ok(reply.calls.every(made => made.origin === origin))
      })

      test('A conversation with calls, results and images goes back in order', async () => {
        await using asked = await open([say('Seen')])
        const image = {
          type: 'image' as const,
          image_urls: ['data:image/png;base64,iVBORw0KGgo='],
          cache_prompt: false,
        }
        const made = (id: string, text: string) => ({
          id,
          name: 'look',
          arguments: text,
          origin: 'completion' as const,
        })
        await asked.ask({
          messages: [
            message('system', 'S1'),
            { ...message('user', 'U1'), content: [...message('user', 'U1').content, image] },
            message('assistant', 'A1', {
              tool_calls: [made('callaaaa1', '{"where":"W1"}'), made('callbbbb2', '{rubbish')],
            }),
            { ...message('tool', 'R1', { tool_call_id: 'callaaaa1', name: 'look' }) },
            message('tool', 'R2', { tool_call_id: 'callbbbb2' }),
            message('assistant', 'A2'),
            message('user', 'U2'),
          ],
          tools: [LOOK],
        })
        const body = JSON.stringify(asked.server.requests[0]?.messages)
        const places = ['U1', 'iVBORw0KGgo=', 'A1', 'W1', 'rubbish', 'R1', 'R2', 'A2', 'U2'].map(word =>
          body.indexOf(word),
        )
        assert.ok(!places.includes(-1), `${places} in ${body}`)
        assert.deepEqual(
          places,
          places.toSorted((a, b) => a - b),
        )
      })

      test('An image is not sent to a model that takes none', async () => {
        await using asked = await open([say('Fine')], { disable_vision: true })
        assert.equal(asked.model.sees, false)
        const image = {
          type: 'image' as const,
          image_urls: ['data:image/png;base64,iVBORw0KGgo='],
          cache_prompt: false,
        }
        await asked.ask({ messages: [{ ...message('user', 'Look'), content: [image] }], tools: [] })
        const body = JSON.stringify(asked.server.requests[0]?.body)
        assert.doesNotMatch(body, /iVBORw0KGgo/)
        assert.match(body, /not shown/)
      })

      test('What was used is told', async () => {
        const usage = { prompt: 1000, completion: 50, cacheRead: 300, cacheWrite: 200, reasoning: 20 }
        await using asked = await open([say('Hi', { usage })])
        const reply = await asked.ask()
        assert.equal(reply.usage.prompt, 1000)
        assert.equal(reply.usage.completion, 50)
        if (provider.caches) assert.equal(reply.usage.cacheRead, 300)
        if (provider.caches === 'both') assert.equal(reply.usage.cacheWrite, 200)
      })

      test('The limits of the order are told', async () => {
        await using asked = await open([say('Hi')], { max_output_tokens: 777, temperature: 0.25, top_p: 0.5 })
        await asked.ask({ ...ASK, maxOutputTokens: 555 })
        const body = JSON.stringify(asked.server.requests[0]?.body)
        for (const value of [':555', ':0.25', ':0.5']) assert.ok(body.includes(value), `${value} in ${body}`)
        assert.ok(!body.includes('777'))
      })

      test('Headers and fields of the order go along', async () => {
        const order = { extra_headers: { 'x-team': 'blue' }, litellm_extra_body: { metadata: { tag: 'T1' } } }
        await using asked = await open([say('Hi')], order)
        await asked.ask()
        const [seen] = asked.server.requests
        assert.equal(seen?.headers['x-team'], 'blue')
        assert.deepEqual(seen?.body.metadata, { tag: 'T1' })
      })

      for (const [fault, code] of FAULTS)
        test(`The fault "${fault}" is ${code}`, async () => {
          const error = await telling(fail(fault))
          assert.equal(error.code, code, error.message)
        })

      test('Every status has its code, also without a word', async () => {
        for (const [status, code] of STATUSES)
          for (const errorBody of ['', '<html>nginx</html>', '{"error":{"message":42}}']) {
            const turn = status < 400 ? { status, raw: errorBody } : { status, errorBody }
            const error = await telling(turn)
            assert.equal(error.code, code, `${status}: ${error.message}`)
          }
      })

      test('A key that the provider repeats is masked', async () => {
        const error = await telling({
          status: 418,
          errorBody: { error: { message: `No tea for ${KEY}!`, type: 'teapot' } },
        })
        assert.equal(error.code, 'LLMBadRequestError')
      })

      test('A wait that the provider asks for is told, in seconds, milliseconds or as a date', async () => {
        const wait = async (headers: Record<string, string>) => (await telling(fail('rate', { headers }))).retryAfterMs
        assert.equal(await wait({ 'retry-after': '7' }), 7_000)
        assert.equal(await wait({ 'retry-after-ms': '1500' }), 1_500)
        const date = await wait({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() })
        assert.ok(date !== undefined && date > 50_000 && date <= 60_000, String(date))
        assert.equal(await wait({ 'retry-after': 'soon' }), undefined)
      })

      for (const cut of ['reset', 'end'] as const)
        test(`An answer that breaks off (${cut}) is none`, async () => {
          for (const turn of [
            say('All of it', { chunks: 4, cut }),
            call('look', { where: 'here' }, { chunks: 4, cut }),
          ]) {
            const error = await telling(turn)
            assert.ok(['LLMServiceUnavailableError', 'LLMNoResponseError'].includes(error.code), error.code)
            assert.ok(error.retryable)
          }
        })

      test('Rubbish is no answer', async () => {
        const rubbish = [
          '',
          '\n\n',
          'data: {',
          'data: {"a":1}\n\n',
          'data: null\n\ndata: [DONE]\n\n',
          'data: [DONE]\n\n',
          '<html>Please sign in</html>',
          'data: {"choices":"none","candidates":7,"type":"message_start"}\n\n',
          'event: x\ndata: []\n\n',
          '{"choices":[]}',
          '{"content":null}',
          '\u0000\u0001\u0002',
        ]
        for (const raw of rubbish) {
          const error = await telling({ raw })
          const codes = ['LLMServiceUnavailableError', 'LLMNoResponseError']
          assert.ok(codes.includes(error.code), `${JSON.stringify(raw)}: ${error.code} ${error.message}`)
        }
      })

      test('A limit that cut the answer is told, also where it left nothing', async () => {
        const words = { chat: 'length', responses: 'max_output_tokens', anthropic: 'max_tokens', gemini: 'MAX_TOKENS' }
        for (const text of ['Half of', '']) {
          await using asked = await open([say(text, { finish: words[provider.protocol] })])
          const reply = await asked.ask()
          assert.deepEqual([reply.text, reply.cut, reply.refused], [text, true, false])
        }
      })

      test('An answer that the provider withholds is told', {
        skip: provider.withholds === false && `${name} does not say so`,
      }, async () => {
        const words = { chat: 'content_filter', responses: 'content_filter', anthropic: 'refusal', gemini: 'SAFETY' }
        await using asked = await open([say('', { finish: words[provider.protocol] })])
        const reply = await asked.ask()
        assert.deepEqual([reply.text, reply.cut, reply.refused], ['', false, true])
      })

      if (stream)
        test('A fault in the middle of a stream is told', async () => {
          const event = (value: { type?: string }) =>
            `${value.type ? `event: ${value.type}\n` : ''}data: ${JSON.stringify(value)}\n\n`
          const error = { message: 'Overloaded', type: 'overloaded_error', code: 'server_error' }
          const faults = {
            chat: event({ error } as object),
            responses: event({ ...error, type: 'error', param: null, sequence_number: 3 } as object),
            anthropic: event({ type: 'error', error } as object),
            gemini: event({ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } } as object),
          }
          await using whole = await open([say('Half of it', { chunks: 2 })])
          const [begun] = await bodyOf(whole.server, provider.protocol)
          for (const raw of [faults[provider.protocol], begun + faults[provider.protocol]]) {
            const told = await telling({ raw })
            assert.equal(told.code, 'LLMServiceUnavailableError', told.message)
            assert.match(told.message, /Overloaded|cannot answer/)
          }
          await using hanging = await open([{ raw: faults[provider.protocol], stall: 'middle' }])
          await failure(hanging)
          await until('the server sees it leave', () => hanging.server.requests[0]?.left, 1_000)
        })

      test('An empty answer is none where words are asked for, and an answer where calls might have been', async () => {
        await using asked = await open([say(''), say('')])
        assert.deepEqual((await asked.ask({ ...ASK, tools: [LOOK] })).calls, [])
        const error = await asked.ask({ ...ASK, tools: [] }).catch(error => error)
        assert.equal(error.code, 'LLMNoResponseError')
      })

      test('Nobody listening is told by name', async () => {
        await using asked = await open([])
        await asked.server.close()
        const error = await failure(asked)
        assert.equal(error.code, 'LLMServiceUnavailableError')
        assert.match(error.message, /127\.0\.0\.1/)
      })

      for (const stall of ['before', 'middle'] as const)
        test(`An interrupted question (${stall}) rejects at once with the reason, and the connection closes`, async () => {
          await using asked = await open([say('Never all', { chunks: 4, stall })])
          const stop = new AbortController()
          const asking = asked.ask(undefined, stop.signal).catch(error => error)
          const seen = await until<Seen | undefined>('it is asked', () => asked.server.requests[0])
          if (stall === 'middle' && stream) await until('it speaks', () => asked.deltas.length > 0)
          const reason = new Error('enough')
          const began = performance.now()
          stop.abort(reason)
          assert.equal(await asking, reason)
          assert.ok(performance.now() - began < 100)
          await until('the server sees it leave', () => seen.left, 1_000)
        })

      test('What is interrupted before it is asked never is', async () => {
        await using asked = await open([say('Hi')])
        const reason = new Error('no')
        await assert.rejects(asked.ask(undefined, AbortSignal.abort(reason)), error => error === reason)
        assert.equal(asked.server.count, 0)
      })

      test('One question after another leaves nothing behind on a signal that lives long', async () => {
        await using asked = await open(() => say('Hi'))
        const { signal } = new AbortController()
        let listeners = 0
        const { addEventListener, removeEventListener } = signal
        signal.addEventListener = (...args: [string, never]) => {
          listeners++
          addEventListener.apply(signal, args)
        }
        signal.removeEventListener = (...args: [string, never]) => {
          listeners--
          removeEventListener.apply(signal, args)
        }
        for (let i = 0; i < 3; i++) await asked.ask(undefined, signal)
        assert.equal(listeners, 0)
      })
    })
}

/** What takes time, for all providers side by side. */
export function modelTimes(providers: Record<string, Provider>): void {
  const test = sampled(1)
  describe('In time', { concurrency: true }, () => {
    for (const [name, provider] of Object.entries(providers))
      for (const stream of [true, false]) {
        const how = `${name}, ${stream ? 'streamed' : 'whole'}`
        const given = async (turn: Turn, timeout: number) => {
          await using asked = await opened(provider, [turn], { stream, timeout })
          const error = await failure(asked)
          await until('the server sees it leave', () => asked.server.requests[0]?.left, 1_000)
          return error
        }

        test(`A model that stays silent is given up: ${how}`, async () => {
          const error = await given(say('', { stall: 'before' }), 0.3)
          assert.equal(error.code, 'LLMTimeoutError')
          assert.ok(error.retryable)
        })

        test(`A model that falls silent in the middle is given up: ${how}`, async () => {
          const error = await given(say('Half of it', { chunks: 4, stall: 'middle' }), 0.3)
          assert.equal(error.code, 'LLMTimeoutError')
        })
      }
  })

  describe('At length', { concurrency: true }, () => {
    for (const [name, provider] of Object.entries(providers))
      test(`A slow model is waited for as long as it goes on: ${name}`, async () => {
        const text = 'x'.repeat(60)
        const slow = say(text, { chunks: 60, trickle: { bytes: 250, ms: 50 } })
        await using asked = await opened(provider, [slow], { timeout: 1 })
        const reply = await asked.ask()
        assert.equal(reply.text, text)
        assert.ok(reply.latencyMs > 1_000, `It took ${reply.latencyMs} ms`)
      })
  })
}
