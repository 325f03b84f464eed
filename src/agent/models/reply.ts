import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { MessageToolCall } from '../../api/common.ts'
import { newId } from '../../lib/id.ts'
import { type Delta, ModelError, type Reply, type Usage } from '../model.ts'
import { keep, type Sealed } from './thoughts.ts'

/** An answer as a library hands it out, streamed or whole. */
export interface Answer {
  id: string | undefined
  content: LanguageModelV4Content[]
  /** Undefined when it broke off. */
  finish: LanguageModelV4FinishReason | undefined
  usage: LanguageModelV4Usage | undefined
  /** What the order asks for and the provider does not take. */
  unsupported: string[]
}

type Block = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>

/** Listens until the stream ends. Throws what the provider reports in it. */
export async function hear(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  listen: (delta: Delta) => void,
): Promise<Answer> {
  const answer: Answer = { id: undefined, content: [], finish: undefined, usage: undefined, unsupported: [] }
  const open = new Map<string, Block>()
  for await (const part of parts) {
    switch (part.type) {
      case 'stream-start':
        answer.unsupported = unsupportedIn(part.warnings)
        break
      case 'response-metadata':
        answer.id ??= part.id
        break
      case 'text-start':
      case 'reasoning-start': {
        const block: Block = { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' }
        open.set(part.id, block)
        answer.content.push(block)
        seal(block, part)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const block = open.get(part.id)
        if (!block) break
        block.text += part.delta
        seal(block, part)
        if (part.delta !== '') listen(block.type === 'text' ? { content: part.delta } : { reasoning: part.delta })
        break
      }
      case 'text-end':
      case 'reasoning-end': {
        const block = open.get(part.id)
        if (block) seal(block, part)
        break
      }
      case 'tool-input-start':
        listen({})
        break
      case 'tool-call':
        answer.content.push(part)
        break
      case 'finish':
        answer.finish = part.finishReason
        answer.usage = part.usage
        break
      case 'error':
        throw part.error
    }
  }
  return answer
}

/** Seals come with any part of a block. */
function seal(block: Block, { providerMetadata }: Pick<Block, 'providerMetadata'>): void {
  for (const [name, seals] of Object.entries(providerMetadata ?? {}))
    block.providerMetadata = { ...block.providerMetadata, [name]: { ...block.providerMetadata?.[name], ...seals } }
}

export const unsupportedIn = (warnings: readonly { type: string; feature?: string }[]): string[] =>
  warnings.flatMap(({ type, feature }) => (type === 'unsupported' && feature ? [feature] : []))

/** Throws a ModelError unless the answer is whole. */
export function replyOf(answer: Answer, origin: MessageToolCall['origin'], latencyMs: number): Reply {
  const reason = endOf(answer)
  const text = answer.content.map(part => (part.type === 'text' ? part.text : '')).join('')
  const blocks = answer.content.flatMap(part => (part.type === 'reasoning' ? [sealed(part, part.text)] : []))
  const called = answer.content.flatMap(part => (part.type === 'tool-call' ? [part] : []))
  const kept = keep(
    blocks,
    called.map(part => sealed(part, '')),
  )
  const cut = reason === 'length'
  const refused = reason === 'content-filter'
  const taken = new Set<string>()
  return {
    id: answer.id || newId(),
    text,
    reasoning: blocks
      .map(block => block.text)
      .filter(Boolean)
      .join('\n\n'),
    thinking: kept.thinking,
    reasoningItem: kept.item,
    calls: called.map(call => {
      const id = call.toolCallId && !taken.has(call.toolCallId) ? call.toolCallId : newId()
      taken.add(id)
      const item = Object.assign({}, ...Object.values(call.providerMetadata ?? {})).itemId
      return { id, responses_item_id: item ?? null, name: call.toolName, arguments: call.input, origin }
    }),
    cut,
    refused,
    usage: usageOf(answer.usage),
    latencyMs,
  }
}

const sealed = ({ providerMetadata }: Pick<Block, 'providerMetadata'>, text: string): Sealed => ({
  text,
  metadata: providerMetadata,
})

/** Why the model stopped. Without a reason of its own it did not stop: the line broke, and half an answer is none. */
function endOf({ finish }: Answer): 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other' {
  switch (finish?.unified) {
    case 'stop':
    case 'length':
    case 'content-filter':
    case 'tool-calls':
      return finish.unified
    case 'other':
      if (finish.raw) return 'other'
  }
  if (finish?.raw) throw new ModelError('LLMNoResponseError', `The model failed to answer (${finish.raw}): try again`)
  throw new ModelError('LLMServiceUnavailableError', 'The answer of the model broke off in the middle: try again')
}

/** What a model says of itself need not be a count: a negative one would earn money. */
const whole = (tokens: number | undefined): number =>
  tokens !== undefined && Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0

function usageOf(usage: LanguageModelV4Usage | undefined): Usage {
  const prompt = usage?.inputTokens.total ?? 0
  const raw = (usage?.raw ?? {}) as CompatibleUsage
  const written = raw.prompt_tokens_details?.cache_write_tokens ?? raw.prompt_tokens_details?.cache_creation_tokens
  return {
    prompt,
    completion: whole(usage?.outputTokens.total),
    cacheRead: whole(usage?.inputTokens.cacheRead),
    cacheWrite: usage?.inputTokens.cacheWrite ?? written ?? raw.cache_creation_input_tokens ?? 0,
    reasoning: whole(usage?.outputTokens.reasoning),
  }
}

/** Proxies tell what was written to a cache in ways that the library does not read. */
interface CompatibleUsage {
  cache_creation_input_tokens?: number
  prompt_tokens_details?: { cache_write_tokens?: number; cache_creation_tokens?: number }
}
