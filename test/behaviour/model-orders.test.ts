import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import { withinBudget } from '../../src/agent/models/options.ts'
import { retryAfterMs } from '../../src/agent/models/retry-after.ts'
import { LOOK, message, opened, type Provider } from '../contract/model.ts'
import { fail, say } from '../support/model-turns.ts'

/** What a provider is sent for an order. */
async function sent(provider: Provider, extra: Record<string, unknown>, messages = [message('user', 'Hello')]) {
  await using asked = await opened(provider, [say('Hi')], extra)
  await asked.ask({ messages, tools: [LOOK] })
  return asked.server.requests[0]!
}

const CHAT: Provider = { protocol: 'chat' }
const RESPONSES: Provider = { protocol: 'responses' }
const ANTHROPIC: Provider = { protocol: 'anthropic' }
const GEMINI: Provider = { protocol: 'gemini' }

test('An effort is sent to models that take one, and left out for others', async () => {
  const effort = async (provider: Provider, extra: Record<string, unknown>) => (await sent(provider, extra)).body
  assert.equal((await effort(CHAT, { model: 'openai/gpt-5.5' })).reasoning_effort, 'high')
  assert.equal((await effort(CHAT, { model: 'openai/gpt-5.5', reasoning_effort: null })).reasoning_effort, undefined)
  assert.equal((await effort(CHAT, { model: 'openai/gpt-4o' })).reasoning_effort, undefined)
  assert.equal((await effort(CHAT, { model: 'openai/llama3' })).reasoning_effort, undefined)
  const canonical = { model: 'openai/mine', model_canonical_name: 'gpt-5.5' }
  assert.equal((await effort(CHAT, canonical)).reasoning_effort, 'high')
  const overrides = { supports_reasoning_effort: true }
  assert.equal((await effort(CHAT, { capability_overrides: overrides })).reasoning_effort, 'high')
  assert.deepEqual((await effort(RESPONSES, { model: 'gpt-5.5', reasoning_summary: 'auto' })).reasoning, {
    effort: 'high',
    summary: 'auto',
  })
  assert.deepEqual((await effort(RESPONSES, { model: 'gpt-5.5', reasoning_effort: 'low' })).reasoning, {
    effort: 'low',
  })
  assert.deepEqual((await effort(RESPONSES, canonical)).reasoning, { effort: 'high' })
  assert.equal((await effort(RESPONSES, { model: 'gpt-4o' })).reasoning, undefined)
  assert.deepEqual((await effort(ANTHROPIC, { model: 'claude-opus-5-5' })).output_config, { effort: 'high' })
  assert.equal((await effort(ANTHROPIC, { model: 'claude-3-5-haiku-20241022' })).thinking, undefined)
  assert.ok((await effort(GEMINI, { model: 'gemini/gemini-2.5-pro' })).generationConfig.thinkingConfig.includeThoughts)
  assert.equal((await effort(GEMINI, { model: 'gemini/gemini-2.0-flash' })).generationConfig.thinkingConfig, undefined)
})

test('A budget for thinking stays below the limit for output, and below its own', async () => {
  const thinking = async (extra: Record<string, unknown>) => {
    const { body } = await sent(ANTHROPIC, { model: 'claude-sonnet-4-5', ...extra })
    return [body.max_tokens, body.thinking?.budget_tokens]
  }
  assert.deepEqual(await thinking({}), [64_000, 32_000])
  assert.deepEqual(await thinking({ max_output_tokens: 8_000 }), [8_000, 4_000])
  assert.deepEqual(await thinking({ extended_thinking_budget: 2_000 }), [64_000, 2_000])
  assert.deepEqual(await thinking({ max_output_tokens: 1_500 }), [1_500, undefined])
  assert.deepEqual(await thinking({ reasoning_effort: 'none' }), [64_000, undefined])
  assert.deepEqual(withinBudget({ max_tokens: 10 }, null, 5), { max_tokens: 10 })
})

test('What a provider does not take is left out, or refused by name where the order wants that', async () => {
  const order = { model: 'openai/x', api_mode: 'responses', top_k: 5 }
  assert.equal((await sent(RESPONSES, order)).body.top_k, undefined)
  await assert.rejects(
    sent(RESPONSES, { ...order, drop_params: false }),
    error => error instanceof ModelError && error.code === 'LLMBadRequestError' && /topK/.test(error.message),
  )
  assert.equal((await sent(CHAT, { top_k: 5 })).body.top_k, 5)
  assert.equal((await sent(CHAT, { seed: 42 })).body.seed, 42)
})

test('Claude is told what to keep in its cache, and nobody else is, unless the order does not want it', async () => {
  const system = message('system', 'Static')
  system.content.push({ type: 'text', text: 'Dynamic', cache_prompt: false })
  const messages = [system, message('user', 'One'), message('assistant', 'Two'), message('user', 'Three')]
  const marked = async (provider: Provider, extra: Record<string, unknown>) => {
    const { body } = await sent(provider, extra, messages)
    const blocks = [body.system ?? [], ...body.messages.map((said: { content: unknown }) => said.content)].flat()
    return blocks.flatMap(block => (block.cache_control ? [block.text] : []))
  }
  const all = ['Static', 'Dynamic', 'One', 'Three']
  assert.deepEqual(await marked(ANTHROPIC, {}), all)
  assert.deepEqual(await marked(ANTHROPIC, { caching_prompt: false }), [])
  assert.deepEqual(await marked(CHAT, { model: 'litellm_proxy/claude-opus-5-5' }), [
    'Static\n\nDynamic',
    'One',
    'Three',
  ])
  assert.deepEqual(await marked(CHAT, { model: 'openai/gpt-4o' }), [])
})

test('OpenRouter is told who asks', async () => {
  const { headers } = await sent(CHAT, { model: 'openrouter/a/b', openrouter_app_name: 'Mine' })
  assert.equal(headers['x-title'], 'Mine')
})

test('Azure is asked under the deployment, with the version and its own header', async () => {
  const order = { model: 'azure/deploy-1', api_version: '2024-10-21' }
  const { path, headers } = await sent({ protocol: 'chat', path: '' }, order)
  assert.equal(path, '/openai/deployments/deploy-1/chat/completions?api-version=2024-10-21')
  assert.ok(headers['api-key'])
})

test('Images in results are shown where results cannot hold them, after all results of the turn', async () => {
  const image = { type: 'image' as const, image_urls: ['data:image/png;base64,iVBORw0KGgo='], cache_prompt: false }
  const made = (id: string) => ({ id, name: 'look', arguments: '{}', origin: 'completion' as const })
  const messages = [
    message('user', 'Look'),
    message('assistant', '', { tool_calls: [made('c1'), made('c2')] }),
    { ...message('tool', 'R1', { tool_call_id: 'c1' }), content: [...message('tool', 'R1').content, image] },
    message('tool', 'R2', { tool_call_id: 'c2' }),
  ]
  const chat = (await sent(CHAT, {}, messages)).messages
  assert.deepEqual(
    chat.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool', 'user'],
  )
  assert.deepEqual([chat[2].content, chat[3].content], ['R1', 'R2'])
  const anthropic = (await sent(ANTHROPIC, {}, messages)).messages
  assert.deepEqual(
    anthropic.at(-1).content[0].content.map(({ type }: { type: string }) => type),
    ['text', 'image'],
  )
})

test('A plan that is used up for the minute is a matter of patience where the provider says when to come back', async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.5s' }]
  const error = { code: 429, message: 'You exceeded your current quota, please check your plan', details }
  await using asked = await opened(GEMINI, [{ status: 429, errorBody: { error } }, fail('quota')])
  const busy = await asked.ask().catch(error => error)
  assert.deepEqual([busy.code, busy.retryAfterMs], ['LLMRateLimitError', 12_500])
  assert.equal((await asked.ask().catch(error => error)).code, 'LLMQuotaExceededError')
})

test('Only a readable wish to wait is one', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, '', now), 30_000)
  assert.equal(retryAfterMs({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, '', now), 0)
  assert.equal(retryAfterMs({ 'retry-after': '0.25' }, '', now), 250)
  assert.equal(retryAfterMs({ 'retry-after-ms': 'x', 'retry-after': '-5' }, '', now), undefined)
  assert.equal(retryAfterMs({}, '{"retryDelay":"never"}', now), undefined)
})
