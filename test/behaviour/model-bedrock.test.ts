import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { ModelError } from '../../src/agent/model.ts'
import { makeOpenModel } from '../../src/agent/models/open.ts'
import { LLM } from '../../src/api/llm.ts'
import { LOOK, message } from '../contract/model.ts'

/** One event as AWS frames it: lengths and headers in binary, each with a checksum. */
function frame(type: string, payload: object): Buffer {
  const headers = Object.entries({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' })
  const encoded = Buffer.concat(
    headers.map(([name, value]) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(value.length)
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ])
    }),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const out = Buffer.alloc(16 + encoded.length + body.length)
  out.writeUInt32BE(out.length, 0)
  out.writeUInt32BE(encoded.length, 4)
  out.writeUInt32BE(crc32(out.subarray(0, 8)), 8)
  encoded.copy(out, 12)
  body.copy(out, 12 + encoded.length)
  out.writeUInt32BE(crc32(out.subarray(0, -4)), out.length - 4)
  return out
}

const EVENTS: [string, object][] = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'I ' } }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'look' } }],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'tooluse_1', name: 'look' } } }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"where":"here"}' } } }],
  ['contentBlockStop', { contentBlockIndex: 1 }],
  ['messageStop', { stopReason: 'tool_use' }],
  ['metadata', { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 1 } }],
]

const WHOLE = {
  output: {
    message: {
      role: 'assistant',
      content: [{ text: 'I look' }, { toolUse: { toolUseId: 'tooluse_1', name: 'look', input: { where: 'here' } } }],
    },
  },
  stopReason: 'tool_use',
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  metrics: { latencyMs: 1 },
}

const ORDER = {
  model: 'bedrock/us.anthropic.claude-opus-5-5-v1:0',
  aws_region_name: 'eu-west-1',
  aws_access_key_id: 'AKIDEXAMPLE',
  aws_secret_access_key: 'very/secret/key',
}

async function asking(
  extra: Record<string, unknown>,
  answer: (streamed: boolean) => { status?: number; body: Buffer },
) {
  const seen: { request: IncomingMessage; body: string }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen.push({ request, body: Buffer.concat(chunks).toString() })
    const { status = 200, body } = answer(request.url?.endsWith('/converse-stream') ?? false)
    response.writeHead(status, { 'content-type': 'application/vnd.amazon.eventstream' }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const model = await makeOpenModel({ fetch })(LLM.parse({ ...ORDER, base_url, ...extra }))
    const request = { messages: [message('system', 'Be brief.'), message('user', 'Hello')], tools: [LOOK] }
    const outcome = await model.ask(request, () => {}, new AbortController().signal).catch(error => error)
    return { outcome, seen: seen[0]! }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const good = (streamed: boolean) => ({
  body: streamed ? Buffer.concat(EVENTS.map(event => frame(...event))) : Buffer.from(JSON.stringify(WHOLE)),
})

for (const stream of [true, false])
  test(`Bedrock answers what is signed with the keys of the order, ${stream ? 'streamed' : 'whole'}`, async () => {
    const { outcome, seen } = await asking({ stream, litellm_extra_body: { tag: 'T1' } }, good)
    if (outcome instanceof Error) throw outcome
    assert.equal(outcome.text, 'I look')
    assert.deepEqual(
      outcome.calls.map((made: { id: string; arguments: string }) => [made.id, made.arguments]),
      [['tooluse_1', '{"where":"here"}']],
    )
    assert.equal(outcome.usage.prompt, 10)
    assert.match(decodeURIComponent(seen.request.url!), /us\.anthropic\.claude-opus-5-5-v1:0\/converse/)
    assert.match(
      seen.request.headers.authorization ?? '',
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/bedrock\//,
    )
    assert.match(seen.body, /T1/)
    assert.match(seen.body, /cachePoint/)
  })

test('Bedrock with an API key sends that instead of a signature', async () => {
  const { seen } = await asking({ api_key: 'bedrock-key' }, good)
  assert.equal(seen.request.headers.authorization, 'Bearer bedrock-key')
})

test('A Bedrock stream that is cut or damaged is no answer', async () => {
  const whole = good(true).body
  const damaged = Buffer.from(whole)
  damaged[whole.length - 30]! ^= 0xff
  for (const body of [whole.subarray(0, -200), whole.subarray(0, 150), damaged, Buffer.from('rubbish')]) {
    const { outcome } = await asking({ stream: true }, () => ({ body }))
    assert.ok(outcome instanceof ModelError, JSON.stringify(outcome))
    assert.ok(outcome.retryable, outcome.code)
  }
})

test('Faults of Bedrock are told, without its secrets', async () => {
  const faults: [number, object, string][] = [
    [403, { message: 'The security token very/secret/key is invalid.' }, 'LLMAuthenticationError'],
    [400, { message: 'Input is too long for requested model.' }, 'LLMContextWindowExceedError'],
    [429, { message: 'Too many requests, please wait before trying again.' }, 'LLMRateLimitError'],
    [503, { message: 'Bedrock is unable to process your request.' }, 'LLMServiceUnavailableError'],
  ]
  for (const [status, body, code] of faults) {
    const { outcome } = await asking({ stream: true }, () => ({ status, body: Buffer.from(JSON.stringify(body)) }))
    assert.equal(outcome.code, code, outcome.message)
    assert.doesNotMatch(outcome.message, /very\/secret/)
  }
})
