import type { Call, Family, Tokens, Turn } from './model-turns.ts'

export type Protocol = 'chat' | 'responses' | 'anthropic' | 'gemini'

/** A turn in the words of one protocol: frames to stream, or one whole body. */
export interface Wire {
  family: Family
  /** `body` is what was asked. */
  stream(turn: Full, id: string, model: string, body: { stream_options?: { include_usage?: boolean } }): string[]
  whole(turn: Full, id: string, model: string): unknown
}

/** With everything that a turn may leave out. */
export interface Full {
  text: string
  reasoning: string
  thinking: NonNullable<Turn['thinking']>
  calls: { name: string; arguments: object | string; text: string; id: string }[]
  usage: Tokens
  finish: string | undefined
  chunks: number
}

export function full(turn: Turn, id: string): Full {
  const usage = { prompt: 100, completion: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0, ...turn.usage }
  return {
    text: turn.text ?? '',
    reasoning: turn.reasoning ?? '',
    thinking: turn.thinking ?? [],
    calls: (turn.calls ?? []).map((call: Call, i) => ({
      name: call.name,
      arguments: call.arguments,
      text: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
      id: call.id ?? `call_${id}_${i}`,
    })),
    usage,
    finish: turn.finish,
    chunks: turn.chunks ?? 1,
  }
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const named = (value: { type: string; [field: string]: unknown }) => `event: ${value.type}\n${data(value)}`

/** Cut into about as many pieces as asked for; none of an empty text. */
function pieces(text: string, count: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / count))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}

const chatUsage = (usage: Tokens) => ({
  prompt_tokens: usage.prompt,
  completion_tokens: usage.completion,
  total_tokens: usage.prompt + usage.completion,
  prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
})

const chat: Wire = {
  family: 'openai',
  stream(turn, id, model, body) {
    const chunk = (choices: unknown[], more: object = {}) =>
      data({ id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created: 1_700_000_000, model, choices, ...more })
    const delta = (delta: object) => chunk([{ index: 0, delta, finish_reason: null }])
    const last = [{ index: 0, delta: { content: '' }, finish_reason: chatFinish(turn) }]
    const usage = { usage: chatUsage(turn.usage) }
    // Whoever does not ask for the usage by itself gets it as Mistral gives it: with the last choice.
    const end = body.stream_options?.include_usage ? [chunk(last), chunk([], usage)] : [chunk(last, usage)]
    return [
      delta({ role: 'assistant', content: '' }),
      ...pieces(turn.reasoning, turn.chunks).map(reasoning_content => delta({ reasoning_content })),
      ...pieces(turn.text, turn.chunks).map(content => delta({ content })),
      ...turn.calls.flatMap(({ id, name, text }, index) => [
        delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
        ...pieces(text, turn.chunks).map(part => delta({ tool_calls: [{ index, function: { arguments: part } }] })),
      ]),
      ...end,
      'data: [DONE]\n\n',
    ]
  },
  whole: (turn, id, model) => ({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: turn.text || null,
          ...(turn.reasoning && { reasoning_content: turn.reasoning }),
          ...(turn.calls.length > 0 && {
            tool_calls: turn.calls.map(({ id, name, text }) => ({
              id,
              type: 'function',
              function: { name, arguments: text },
            })),
          }),
        },
        finish_reason: chatFinish(turn),
      },
    ],
    usage: chatUsage(turn.usage),
  }),
}

const chatFinish = (turn: Full) => turn.finish ?? (turn.calls.length > 0 ? 'tool_calls' : 'stop')

type Item = { type: string; id: string } & Record<string, unknown>

function responseItems(turn: Full, id: string): Item[] {
  const thoughts = turn.thinking.map((thought, i) => ({
    type: 'reasoning',
    id: `rs_${id}_${i}`,
    summary: 'thinking' in thought ? [{ type: 'summary_text', text: thought.thinking }] : [],
    encrypted_content: 'thinking' in thought ? (thought.signature ?? null) : thought.redacted,
  }))
  const content = [{ type: 'output_text', text: turn.text, annotations: [], logprobs: [] }]
  return [
    ...thoughts,
    ...(turn.text ? [{ type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content }] : []),
    ...turn.calls.map((call, i) => ({
      type: 'function_call',
      id: `fc_${id}_${i}`,
      call_id: call.id,
      name: call.name,
      arguments: call.text,
      status: 'completed',
    })),
  ]
}

function response(turn: Full, id: string, model: string): Record<string, unknown> {
  const { usage } = turn
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: 1_700_000_000,
    status: turn.finish ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: turn.finish ? { reason: turn.finish } : null,
    model,
    output: responseItems(turn, id),
    usage: {
      input_tokens: usage.prompt,
      input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
      output_tokens: usage.completion,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.prompt + usage.completion,
    },
  }
}

const responses: Wire = {
  family: 'openai',
  stream(turn, id, model) {
    const done = response(turn, id, model)
    const begun = { ...done, status: 'in_progress', incomplete_details: null, output: [], usage: null }
    let sequence_number = 0
    const event = (type: string, more: object) => named({ type, sequence_number: sequence_number++, ...more })
    return [
      event('response.created', { response: begun }),
      event('response.in_progress', { response: begun }),
      ...responseItems(turn, id).flatMap((item, output_index) => {
        const at = { item_id: item.id, output_index }
        const inner: string[] = []
        let opened: Item = item
        if (item.type === 'reasoning') {
          opened = { ...item, summary: [], encrypted_content: null }
          for (const [summary_index, { text }] of (item.summary as { text: string }[]).entries()) {
            const part = { ...at, summary_index }
            inner.push(
              event('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }),
              ...pieces(text, turn.chunks).map(delta =>
                event('response.reasoning_summary_text.delta', { ...part, delta }),
              ),
              event('response.reasoning_summary_text.done', { ...part, text }),
              event('response.reasoning_summary_part.done', { ...part, part: { type: 'summary_text', text } }),
            )
          }
        } else if (item.type === 'message') {
          opened = { ...item, status: 'in_progress', content: [] }
          const part = { ...at, content_index: 0 }
          const [content] = item.content as object[]
          inner.push(
            event('response.content_part.added', { ...part, part: { ...content, text: '' } }),
            ...pieces(turn.text, turn.chunks).map(delta =>
              event('response.output_text.delta', { ...part, delta, logprobs: [] }),
            ),
            event('response.output_text.done', { ...part, text: turn.text, logprobs: [] }),
            event('response.content_part.done', { ...part, part: content }),
          )
        } else {
          opened = { ...item, status: 'in_progress', arguments: '' }
          const text = String(item.arguments)
          inner.push(
            ...pieces(text, turn.chunks).map(delta =>
              event('response.function_call_arguments.delta', { ...at, delta }),
            ),
            event('response.function_call_arguments.done', { ...at, arguments: text }),
          )
        }
        return [
          event('response.output_item.added', { output_index, item: opened }),
          ...inner,
          event('response.output_item.done', { output_index, item }),
        ]
      }),
      event(`response.${done.status}`, { response: done }),
    ]
  },
  whole: response,
}

const anthropicUsage = (usage: Tokens) => ({
  input_tokens: usage.prompt - usage.cacheRead - usage.cacheWrite,
  cache_read_input_tokens: usage.cacheRead,
  cache_creation_input_tokens: usage.cacheWrite,
  output_tokens: usage.completion,
})

const anthropicFinish = (turn: Full) => turn.finish ?? (turn.calls.length > 0 ? 'tool_use' : 'end_turn')

const anthropic: Wire = {
  family: 'anthropic',
  stream(turn, id, model) {
    let index = -1
    const block = (content_block: object, deltas: object[]) => {
      index += 1
      return [
        named({ type: 'content_block_start', index, content_block }),
        ...deltas.map(delta => named({ type: 'content_block_delta', index, delta })),
        named({ type: 'content_block_stop', index }),
      ]
    }
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', content: [], model, stop_reason: null }
    const usage = { ...anthropicUsage(turn.usage), output_tokens: 1 }
    const end = {
      type: 'message_delta',
      delta: { stop_reason: anthropicFinish(turn), stop_sequence: null },
      usage: { output_tokens: turn.usage.completion },
    }
    return [
      named({ type: 'message_start', message: { ...message, stop_sequence: null, usage } }),
      ...turn.thinking.flatMap(thought =>
        'redacted' in thought
          ? block({ type: 'redacted_thinking', data: thought.redacted }, [])
          : block({ type: 'thinking', thinking: '', signature: '' }, [
              ...pieces(thought.thinking, turn.chunks).map(thinking => ({ type: 'thinking_delta', thinking })),
              ...(thought.signature ? [{ type: 'signature_delta', signature: thought.signature }] : []),
            ]),
      ),
      ...(turn.text
        ? block(
            { type: 'text', text: '' },
            pieces(turn.text, turn.chunks).map(text => ({ type: 'text_delta', text })),
          )
        : []),
      ...turn.calls.flatMap(call =>
        block(
          { type: 'tool_use', id: call.id, name: call.name, input: {} },
          pieces(call.text, turn.chunks).map(partial_json => ({ type: 'input_json_delta', partial_json })),
        ),
      ),
      named(end),
      named({ type: 'message_stop' }),
    ]
  },
  whole: (turn, id, model) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...turn.thinking.map(thought =>
        'redacted' in thought
          ? { type: 'redacted_thinking', data: thought.redacted }
          : { type: 'thinking', signature: '', ...thought },
      ),
      ...(turn.text ? [{ type: 'text', text: turn.text }] : []),
      ...turn.calls.map(call => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments })),
    ],
    stop_reason: anthropicFinish(turn),
    stop_sequence: null,
    usage: anthropicUsage(turn.usage),
  }),
}

const geminiUsage = (usage: Tokens) => ({
  promptTokenCount: usage.prompt,
  candidatesTokenCount: usage.completion - usage.reasoning,
  thoughtsTokenCount: usage.reasoning,
  cachedContentTokenCount: usage.cacheRead,
  totalTokenCount: usage.prompt + usage.completion,
})

function geminiParts(turn: Full): object[] {
  return [
    ...turn.thinking.flatMap(thought =>
      'thinking' in thought
        ? [{ text: thought.thinking, thought: true, ...(thought.signature && { thoughtSignature: thought.signature }) }]
        : [],
    ),
    ...pieces(turn.text, turn.chunks).map(text => ({ text })),
    ...turn.calls.map(({ name, arguments: args }) => ({ functionCall: { name, args } })),
  ]
}

const gemini: Wire = {
  family: 'gemini',
  stream(turn, responseId, modelVersion) {
    const chunk = (parts: object[], more: object = {}, outer: object = {}) =>
      data({
        candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
        modelVersion,
        responseId,
        ...outer,
      })
    return [
      ...geminiParts(turn).map(part => chunk([part])),
      chunk([{ text: '' }], { finishReason: turn.finish ?? 'STOP' }, { usageMetadata: geminiUsage(turn.usage) }),
    ]
  },
  whole: (turn, responseId, modelVersion) => ({
    candidates: [
      { content: { role: 'model', parts: geminiParts(turn) }, finishReason: turn.finish ?? 'STOP', index: 0 },
    ],
    usageMetadata: geminiUsage(turn.usage),
    modelVersion,
    responseId,
  }),
}

export const wires: Record<Protocol, Wire> = { chat, responses, anthropic, gemini }
