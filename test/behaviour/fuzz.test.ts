import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as z from 'zod'
import type { RouteSpec } from '../../src/api/route.ts'
import { isRaw } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { Fuzz } from '../support/fuzz.ts'
import { Random } from '../support/random.ts'
import { aMessage, anOrder, count, TestServer } from '../support/server.ts'
import { TestSocket } from '../support/socket.ts'

const CASES = count({ sample: 1000, deep: 20_000 })
const random = new Random()
let server: TestServer
let fuzz: Fuzz
let known: string
// biome-ignore lint/suspicious/noExplicitAny: the document is read as a client would
let document: any

before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'] })
  document = await (await fetch(`${server.url}/openapi.json`)).json()
  fuzz = new Fuzz(random, document.components.schemas)
  known = (await server.client.startConversation({ body: anOrder({ initial_message: aMessage('hello') }) })).id
})
after(() => server[Symbol.asyncDispose]())

/** Routes that never end, or that would take the known conversation away. */
const LEFT_OUT = new Set(['streamEvents', 'deleteConversation', 'deleteAppConversation'])
const names = Object.keys(routes).filter(name => !LEFT_OUT.has(name))

const ErrorBody = z.union([
  z.object({ detail: z.string() }),
  z.object({
    detail: z.array(z.object({ type: z.string(), loc: z.array(z.union([z.string(), z.int()])), msg: z.string() })),
  }),
])

function aRequest(name: string): { url: string; init: RequestInit } {
  const spec = (routes as Record<string, RouteSpec>)[name]!
  const operation = document.paths[spec.path][spec.method.toLowerCase()]
  const query = new URLSearchParams()
  let path = spec.path
  for (const { in: place, name: parameter, schema, required } of operation.parameters ?? []) {
    const value =
      place === 'path' && parameter === 'conversation_id' && random.next() < 0.7 ? known : fuzz.value(schema)
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    if (place === 'path') path = path.replace(`{${parameter}}`, encodeURIComponent(text.toWellFormed()) || 'x')
    else if (place === 'query' && (required || random.next() < 0.5))
      for (const item of Array.isArray(value) ? value : [text]) query.append(parameter, String(item).toWellFormed())
  }
  const schema = operation.requestBody?.content['application/json']?.schema
  const body = schema && spec.method !== 'GET' ? (nearly[name]?.() ?? aBody(schema)) : undefined
  const type = random.next() < 0.97 ? 'application/json' : random.pick(['text/plain', 'application/xml', ''])
  return {
    url: `${server.url}${path}?${query}`,
    init: {
      method: spec.method,
      redirect: 'manual',
      headers: { 'X-Session-API-Key': server.key, ...(type && { 'Content-Type': type }) },
      ...(body !== undefined && { body }),
    },
  }
}

/** What is so large that a wholly random one is always wrong somewhere: these are wrong in one place or none. */
const nearly: Record<string, () => string> = {
  startConversation: nearlyAnOrder,
  switchLlm: () => JSON.stringify({ llm: nearlyAnLlm() }),
  saveProfile: () => JSON.stringify({ llm: nearlyAnLlm() }),
}

function one(name: string): Record<string, unknown> {
  const [field, schema] = random.pick(Object.entries(document.components.schemas[name].properties))
  return { [field]: fuzz.value(schema) }
}

/** Nothing is asked on other machines: what is not the guide is to be found where nobody listens. */
function nearlyAnLlm(): Record<string, unknown> {
  const llm: Record<string, unknown> = { model: 'demo/guide', ...one('LLM') }
  return llm.model === 'demo/guide' ? llm : { ...llm, base_url: 'http://127.0.0.1:65535/v1', num_retries: 0 }
}

function nearlyAnOrder(): string {
  const { agent, ...order } = anOrder()
  const llm = { ...agent.llm, ...one('LLM') }
  const wrong = random.pick([
    () => ({ ...order, agent, ...one('StartConversationRequest') }),
    () => ({ ...order, agent: { ...agent, ...one('Agent') } }),
    () => ({ ...order, agent: { ...agent, llm } }),
    () => ({ ...order, agent: { ...agent, agent_context: one('AgentContext') } }),
    () => ({ ...order, agent_settings: { llm, ...one('OpenHandsAgentSettings') } }),
  ])
  return JSON.stringify(wrong())
}

function aBody(schema: unknown): string {
  const text = JSON.stringify(fuzz.value(schema)) ?? 'null'
  if (random.next() < 0.95) return text
  return random.pick([
    text.slice(0, random.int(text.length + 1)),
    `${text}}`,
    `[${text}`,
    '\ufeff',
    'NaN',
    '{"a":1e999}',
  ])
}

const LARGE: (keyof typeof routes)[] = [
  'startConversation',
  'storeSettings',
  'updateSettings',
  'createMcpServer',
  'sendMessage',
  'switchLlm',
  'saveProfile',
  'askAgent',
  'forkConversation',
]

describe('no request that anybody can send is our fault', () => {
  test(`${CASES} requests over all routes (seed ${random.seed}): no 5xx, and every answer is as declared`, async () => {
    const statuses = new Map<number, number>()
    const worked = new Set<string>()
    for (let done = 0; done < CASES; done += 8)
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          // Those that take much are asked more often: few of their requests are right.
          const name = random.pick(random.int(3) === 0 ? LARGE : names)
          const { url, init } = aRequest(name)
          const response = await fetch(url, init)
          const text = await response.text()
          const what = `${init.method} ${url} ${String(init.body).slice(0, 2000)} -> ${response.status} ${text.slice(0, 500)}`
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          const { errors = [], responses } = (routes as Record<string, RouteSpec>)[name]!
          const isModels = response.status === 502 && errors.includes('model_failed')
          const isLacking = response.status === 503 && errors.some(code => code.endsWith('_unavailable'))
          assert.ok(response.status < 500 || isModels || isLacking, what)
          if (response.ok) worked.add(name)
          const declared = responses[response.status]
          if (response.status >= 400) assert.ok(ErrorBody.safeParse(JSON.parse(text)).success, what)
          else if (declared && !isRaw(declared)) {
            const parsed = z.safeParse(declared, JSON.parse(text))
            assert.ok(parsed.success, `${what}: ${parsed.error}`)
          }
        }),
      )
    // Otherwise the requests were so bad that nothing was tested.
    assert.ok((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0) > CASES / 5, JSON.stringify([...statuses]))
    for (const name of LARGE) assert.ok(worked.has(name), `${name} was never right`)
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })

  test('no frame that anybody can send breaks a socket', async () => {
    const socket = await new TestSocket(server.url, `/sockets/events/${known}`).opened()
    const schema = document.components.schemas.SendMessageRequest
    const frames = count({ sample: 300, deep: 3000 })
    for (let i = 0; i < frames; i++)
      socket.send(random.next() < 0.9 ? aBody(schema) : random.pick(['', '[', '"', '\0']))
    socket.send('the last one is not JSON')
    await socket.frame(
      'the last answer',
      frame => frame.kind === 'ServerErrorEvent' && frame.code === 'JSONDecodeError',
    )
    socket.send({ role: 'user', content: 'still alive' })
    await socket.frame('the echo', frame => frame.llm_message?.content[0]?.text === 'still alive')
    await socket.close()
  })
})
