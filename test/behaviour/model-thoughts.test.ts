import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../../src/agent/model.ts'
import type { Message } from '../../src/api/common.ts'
import { LOOK, message, opened, type Provider } from '../contract/model.ts'
import { call, say, type Turn } from '../support/model-turns.ts'

/** A reply as the next question repeats it. */
const spoken = (reply: Reply): Message =>
  message('assistant', reply.text, {
    tool_calls: reply.calls,
    reasoning_content: reply.reasoning,
    thinking_blocks: reply.thinking,
    responses_reasoning_item: reply.reasoningItem,
  })

/** Asks, lets the model look, and asks again. */
async function twice(provider: Provider, turn: Turn, extra: Record<string, unknown> = {}) {
  await using asked = await opened(provider, [turn, say('Done')], extra)
  const question = message('user', 'Where?')
  const reply = await asked.ask({ messages: [question], tools: [LOOK] })
  const results = reply.calls.map(({ id }) => message('tool', 'There', { tool_call_id: id, name: 'look' }))
  await asked.ask({ messages: [question, spoken(reply), ...results], tools: [LOOK] })
  return { reply, deltas: asked.deltas, messages: asked.server.requests[1]!.messages }
}

const THINKING = { thinking: [{ thinking: 'Let me think', signature: 'SEAL' }], text: 'I look', chunks: 3 }

for (const stream of [true, false]) {
  const how = stream ? 'streamed' : 'whole'

  test(`Anthropic gets its sealed thoughts back in their place, ${how}`, async () => {
    const thinking = [...THINKING.thinking, { redacted: 'BLACK' }]
    const turn = call('look', { where: 'here' }, { ...THINKING, thinking })
    const { reply, deltas, messages } = await twice({ protocol: 'anthropic' }, turn, { stream })
    assert.deepEqual(reply.thinking, [
      { type: 'thinking', thinking: 'Let me think', signature: 'SEAL' },
      { type: 'redacted_thinking', data: 'BLACK' },
    ])
    assert.equal(reply.reasoning, 'Let me think')
    const heard = deltas.map(({ reasoning }) => reasoning ?? '').join('')
    assert.equal(heard, stream ? 'Let me think' : '')
    assert.deepEqual(
      messages[1].content.map((block: { type: string }) => block.type),
      ['thinking', 'redacted_thinking', 'text', 'tool_use'],
    )
    assert.deepEqual(messages[1].content[0], { type: 'thinking', thinking: 'Let me think', signature: 'SEAL' })
  })

  test(`OpenAI gets its encrypted reasoning back before what it led to, ${how}`, async () => {
    const turn = call('look', { where: 'here' }, THINKING)
    const { reply, messages } = await twice({ protocol: 'responses' }, turn, { stream })
    assert.deepEqual(reply.reasoningItem, { id: 'rs_1_0', summary: ['Let me think'], encrypted_content: 'SEAL' })
    assert.equal(reply.calls[0]?.responses_item_id, 'fc_1_0')
    const [, reasoning, text, made, result] = messages
    assert.deepEqual(reasoning, {
      type: 'reasoning',
      id: 'rs_1_0',
      encrypted_content: 'SEAL',
      summary: [{ type: 'summary_text', text: 'Let me think' }],
    })
    assert.equal(text.role, 'assistant')
    assert.deepEqual([made.type, made.call_id], ['function_call', reply.calls[0]?.id])
    assert.deepEqual([result.type, result.output], ['function_call_output', 'There'])
  })

  test(`Gemini gets the seals of thoughts back, ${how}`, async () => {
    const { messages } = await twice({ protocol: 'gemini' }, call('look', { where: 'here' }, THINKING), { stream })
    const thought = messages[1].parts.find((part: { thought?: boolean }) => part.thought)
    assert.deepEqual(thought, { text: 'Let me think', thought: true, thoughtSignature: 'SEAL' })
  })

  test(`Reasoning as text goes back only to those who read it, ${how}`, async () => {
    const turn = call('look', { where: 'here' }, { reasoning: 'Plain thoughts' })
    const back = async (model: string, more: Record<string, unknown> = {}) => {
      const { reply, messages } = await twice({ protocol: 'chat' }, turn, { stream, model, ...more })
      assert.equal(reply.reasoning, 'Plain thoughts')
      return messages[1].reasoning_content
    }
    assert.equal(await back('openai/deepseek-reasoner'), 'Plain thoughts')
    assert.equal(await back('openai/scripted'), undefined)
    const overrides = { send_reasoning_content: true }
    assert.equal(await back('openai/scripted', { capability_overrides: overrides }), 'Plain thoughts')
  })
}

test('Gemini gets the seal of a call back on that call', async () => {
  const part = { functionCall: { name: 'look', args: { where: 'here' } }, thoughtSignature: 'CALLSEAL' }
  const body = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], responseId: 'r1' }
  const { reply, messages } = await twice({ protocol: 'gemini' }, { raw: `data: ${JSON.stringify(body)}\n\n` })
  assert.deepEqual(reply.thinking, [{ type: 'thinking', thinking: '', signature: 'CALLSEAL' }])
  assert.equal(messages[1].parts.at(-1).thoughtSignature, 'CALLSEAL')
})

test('Encrypted reasoning is not kept where the order does not want it', async () => {
  const turn = call('look', { where: 'here' }, THINKING)
  const { reply, messages } = await twice({ protocol: 'responses' }, turn, { enable_encrypted_reasoning: false })
  assert.equal(reply.reasoningItem, null)
  assert.equal(reply.reasoning, 'Let me think')
  assert.ok(!messages.some(item => item.type === 'reasoning'))
})

test('Reasoning of OpenAI that is not encrypted is not sent: nothing is kept there to find it by', async () => {
  const turn = call('look', { where: 'here' }, { thinking: [{ thinking: 'Open thoughts' }] })
  const { reply, messages } = await twice({ protocol: 'responses' }, turn)
  assert.equal(reply.reasoning, 'Open thoughts')
  assert.ok(!messages.some(item => item.type === 'reasoning'))
})
