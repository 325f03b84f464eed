import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import { understand } from '../../src/agent/models/names.ts'
import { makeOpenModel } from '../../src/agent/models/open.ts'
import { LLM } from '../../src/api/llm.ts'

const named = (order: Record<string, unknown>) => understand(LLM.parse({ api_key: 'k', ...order }))

test('A name leads to its provider, its address and the name the provider uses', () => {
  const names: [string, string, string, string][] = [
    ['openai/gpt-4o', 'openai', 'gpt-4o', 'https://api.openai.com/v1'],
    ['gpt-4o', 'openai', 'gpt-4o', 'https://api.openai.com/v1'],
    ['claude-opus-5-5', 'anthropic', 'claude-opus-5-5', 'https://api.anthropic.com/v1'],
    ['anthropic/claude-opus-5-5', 'anthropic', 'claude-opus-5-5', 'https://api.anthropic.com/v1'],
    ['gemini-2.5-pro', 'google', 'gemini-2.5-pro', 'https://generativelanguage.googleapis.com/v1beta'],
    ['gemini/gemini-2.5-pro', 'google', 'gemini-2.5-pro', 'https://generativelanguage.googleapis.com/v1beta'],
    ['google/gemini-2.5-pro', 'google', 'gemini-2.5-pro', 'https://generativelanguage.googleapis.com/v1beta'],
    ['mistral/devstral-medium', 'mistral', 'devstral-medium', 'https://api.mistral.ai/v1'],
    ['openrouter/qwen/qwen3-coder', 'compatible', 'qwen/qwen3-coder', 'https://openrouter.ai/api/v1'],
    ['ollama/llama3', 'compatible', 'llama3', 'http://localhost:11434/v1'],
    ['lm_studio/any', 'compatible', 'any', 'http://localhost:1234/v1'],
    ['deepseek/deepseek-chat', 'compatible', 'deepseek-chat', 'https://api.deepseek.com'],
    ['groq/llama', 'compatible', 'llama', 'https://api.groq.com/openai/v1'],
    ['together_ai/a/b', 'compatible', 'a/b', 'https://api.together.xyz/v1'],
    ['xai/grok-4', 'compatible', 'grok-4', 'https://api.x.ai/v1'],
    ['openhands/claude-opus-5-5', 'compatible', 'claude-opus-5-5', 'https://llm-proxy.app.all-hands.dev'],
  ]
  for (const [model, sdk, id, baseUrl] of names) {
    const found = named({ model })
    assert.deepEqual([found.sdk, found.id, found.baseUrl], [sdk, id, baseUrl], model)
  }
})

test('An address of the order is used as people give it: with or without the version, with or without a slash', () => {
  const addresses: [string, string, string, string][] = [
    ['openai/x', 'http://box:8000/v1/', 'compatible', 'http://box:8000/v1'],
    ['openai/x', 'https://api.openai.com/v1/', 'openai', 'https://api.openai.com/v1'],
    ['x', 'http://box/v1', 'compatible', 'http://box/v1'],
    ['Qwen/Qwen3-Coder', 'http://box/v1', 'compatible', 'http://box/v1'],
    ['litellm_proxy/x', 'https://proxy.test/', 'compatible', 'https://proxy.test'],
    ['hosted_vllm/a/b', 'http://box/v1', 'compatible', 'http://box/v1'],
    ['ollama/x', 'http://box:11434', 'compatible', 'http://box:11434/v1'],
    ['anthropic/x', 'https://proxy.test', 'anthropic', 'https://proxy.test/v1'],
    ['anthropic/x', 'https://proxy.test/anthropic/v1', 'anthropic', 'https://proxy.test/anthropic/v1'],
    ['anthropic/x', 'https://proxy.test/v1/messages', 'anthropic', 'https://proxy.test/v1'],
    ['gemini/x', 'https://proxy.test', 'google', 'https://proxy.test/v1beta'],
    ['azure/x', 'https://me.openai.azure.com/', 'azure', 'https://me.openai.azure.com/openai'],
    ['azure/x', 'https://me.openai.azure.com/openai', 'azure', 'https://me.openai.azure.com/openai'],
  ]
  for (const [model, base_url, sdk, expected] of addresses) {
    const found = named({ model, base_url })
    assert.deepEqual([found.sdk, found.baseUrl], [sdk, expected], `${model} at ${base_url}`)
  }
  assert.equal(named({ model: 'Qwen/Qwen3-Coder', base_url: 'http://box/v1' }).id, 'Qwen/Qwen3-Coder')
  assert.equal(named({ model: 'ollama/x', ollama_base_url: 'http://far:1' }).baseUrl, 'http://far:1/v1')
})

test('Bedrock is found by region or by endpoint', () => {
  const found = named({ model: 'bedrock/converse/us.anthropic.claude-opus-5-5-v1:0', aws_region_name: 'eu-west-1' })
  assert.equal(found.id, 'us.anthropic.claude-opus-5-5-v1:0')
  assert.equal(found.baseUrl, 'https://bedrock-runtime.eu-west-1.amazonaws.com')
  const inside = named({ model: 'bedrock/x', aws_bedrock_runtime_endpoint: 'https://vpce.test/' })
  assert.equal(inside.baseUrl, 'https://vpce.test')
})

test('OpenAI is asked over responses where the model reasons, and elsewhere only on request', () => {
  const responses = (order: Record<string, unknown>) => named(order).responses
  assert.equal(responses({ model: 'gpt-5.5' }), true)
  assert.equal(responses({ model: 'openai/o3' }), true)
  assert.equal(responses({ model: 'gpt-4o' }), false)
  assert.equal(responses({ model: 'gpt-5.5', api_mode: 'chat' }), false)
  assert.equal(responses({ model: 'gpt-4o', api_mode: 'responses' }), true)
  assert.equal(responses({ model: 'openai/gpt-5.5', base_url: 'http://box/v1' }), false)
  assert.equal(responses({ model: 'litellm_proxy/gpt-5.5', base_url: 'http://box/v1', api_mode: 'responses' }), true)
  assert.equal(responses({ model: 'gpt-5.5', capability_overrides: { supports_responses_api: false } }), false)
  assert.equal(responses({ model: 'claude-opus-5-5' }), false)
})

test('What cannot be honoured is refused by name', async () => {
  const open = makeOpenModel({ fetch: () => assert.fail('It called somebody') })
  const refusals: [Record<string, unknown>, RegExp, string?][] = [
    [{ model: '' }, /names no model/],
    [{ model: 'openai/' }, /names no model/],
    [{ model: 'nobody/x' }, /nobody.*base_url/],
    [{ model: 'vertex_ai/gemini-2.5-pro' }, /vertex_ai.*gemini\//],
    [{ model: 'azure/x' }, /base_url/],
    [{ model: 'litellm_proxy/x' }, /base_url/],
    [{ model: 'bedrock/x' }, /aws_region_name/],
    [{ model: 'claude-opus-5-5', api_mode: 'responses' }, /api_mode/],
    [{ model: 'openai/x', base_url: 'localhost:8000/v1' }, /base_url/],
    [{ model: 'openai/x', base_url: 'https://me:pw@box/v1' }, /^(?!.*pw@).*base_url/],
    [{ model: 'openai/x', base_url: 'nonsense' }, /base_url/],
    [{ auth_type: 'subscription' }, /auth_type/],
    [{ native_tool_calling: false }, /native_tool_calling/],
    [{ log_completions: true }, /log_completions/],
    [{ inline_image_urls: true }, /inline_image_urls/],
    [{ prompt_cache_retention: '7d' }, /prompt_cache_retention/],
    [{ fallback_strategy: { fallback_llms: ['a'] } }, /fallback_strategy/],
    [{ provider_connection_id: 'p1', api_key: null }, /provider_connection_id/],
    [{ model: 'bedrock/x', aws_region_name: 'r', aws_profile_name: 'me' }, /aws_profile_name/],
    [{ model: 'bedrock/x', aws_region_name: 'r', aws_role_name: 'me' }, /aws_role_name/],
    [{ model: 'bedrock/x', aws_region_name: 'r', api_key: null }, /aws_access_key_id/, 'LLMAuthenticationError'],
    [{ model: 'gpt-4o', api_key: null }, /api_key.*settings/, 'LLMAuthenticationError'],
    [{ model: 'claude-opus-5-5', api_key: '' }, /api_key.*settings/, 'LLMAuthenticationError'],
  ]
  for (const [order, words, code = 'LLMBadRequestError'] of refusals)
    await assert.rejects(
      open(LLM.parse({ api_key: 'k', ...order })),
      error => error instanceof ModelError && error.code === code && words.test(error.message),
      JSON.stringify(order),
    )
})

test('A key of the server is never used for an order without one', async () => {
  const names = ['OPENAI_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK', 'OPENAI_BASE_URL', 'OPENAI_ORG_ID']
  for (const name of names) process.env[name] = 'http://stolen.test'
  try {
    const seen: string[] = []
    const open = makeOpenModel({
      fetch: async (url, init) => {
        seen.push(`${url} ${JSON.stringify([...new Headers(init?.headers)])}`)
        return new Response('', { status: 400 })
      },
    })
    const orders = [
      { model: 'ollama/x' },
      { model: 'openai/x', base_url: 'http://box/v1' },
      { model: 'openai/x', base_url: 'http://box/v1', api_mode: 'responses' },
      { model: 'openai/x', api_key: 'k' },
      { model: 'bedrock/x', aws_region_name: 'r', aws_access_key_id: 'A', aws_secret_access_key: 'B' },
    ]
    for (const order of orders) {
      const model = await open(LLM.parse(order))
      await assert.rejects(model.ask({ messages: [], tools: [] }, () => {}, new AbortController().signal))
    }
    assert.equal(seen.length, orders.length)
    assert.doesNotMatch(seen.join('\n'), /stolen/)
  } finally {
    for (const name of names) delete process.env[name]
  }
})

test('Price and size come from the order first, else from the list, and are unknown otherwise', async () => {
  const open = makeOpenModel({ fetch })
  const usage = { prompt: 1_000_000, completion: 1_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  const facts = async (order: Record<string, unknown>) => {
    const model = await open(LLM.parse({ api_key: 'k', ...order }))
    return [model.contextWindow, model.cost(usage)]
  }
  const own = { input_cost_per_token: 0.000001, output_cost_per_token: 0.001, max_input_tokens: 5000 }
  assert.deepEqual(await facts({ model: 'claude-sonnet-4-5', ...own }), [5000, 2])
  const [window, cost] = await facts({ model: 'anthropic/claude-sonnet-4-5' })
  assert.ok(window !== undefined && window >= 200_000)
  assert.ok(cost !== undefined && cost > 3)
  const cached = (await open(LLM.parse({ api_key: 'k', model: 'claude-sonnet-4-5' }))).cost({
    ...usage,
    cacheRead: 900_000,
  })
  assert.ok(cached !== undefined && cached < cost / 2)
  assert.deepEqual(await facts({ model: 'openai/never-heard-of', base_url: 'http://box/v1' }), [undefined, undefined])
  assert.deepEqual(await facts({ model: 'ollama/gpt-4o' }), [undefined, undefined])
})
