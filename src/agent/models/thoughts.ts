import type { LanguageModelV4ReasoningPart, SharedV4ProviderMetadata, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Message, ReasoningItemModel, Thinking } from '../../api/common.ts'
import type { Named } from './names.ts'

// What a model thought comes with a seal of its provider, and goes back exactly as it came: without it some refuse to go on.

/** A block of reasoning or a call, as a library hands it out. */
export interface Sealed {
  text: string
  metadata: SharedV4ProviderMetadata | undefined
}

interface Seals {
  signature?: string
  redactedData?: string
  redactedContent?: string
  thoughtSignature?: string
  itemId?: string
  reasoningEncryptedContent?: string | null
}

const sealsOf = ({ metadata }: Sealed): Seals => Object.assign({}, ...Object.values(metadata ?? {}))

/** To be kept in a message. */
export function keep(blocks: readonly Sealed[], calls: readonly Sealed[]): Kept {
  const thinking: Thinking[] = []
  const items: ReasoningItemModel[] = []
  for (const block of blocks) {
    const { signature, thoughtSignature, itemId, reasoningEncryptedContent, ...hidden } = sealsOf(block)
    const seal = signature ?? thoughtSignature
    const redacted = hidden.redactedData ?? hidden.redactedContent
    if (redacted) thinking.push({ type: 'redacted_thinking', data: redacted })
    else if (seal) thinking.push({ type: 'thinking', thinking: block.text, signature: seal })
    if (!itemId) continue
    const known = items.find(({ id }) => id === itemId)
    const item = known ?? { id: itemId, summary: [], encrypted_content: null }
    if (!known) items.push(item)
    if (block.text) item.summary.push(block.text)
    item.encrypted_content = reasoningEncryptedContent ?? item.encrypted_content
  }
  // Gemini seals the first call instead of a thought: kept as a thought without words.
  const seal = calls[0] && sealsOf(calls[0]).thoughtSignature
  if (seal) thinking.push({ type: 'thinking', thinking: '', signature: seal })
  return { thinking, item: items[0] ?? null }
}

interface Kept {
  thinking: Thinking[]
  item: ReasoningItemModel | null
}

interface Replayed {
  parts: LanguageModelV4ReasoningPart[]
  ofFirstCall: SharedV4ProviderOptions | undefined
}

/** As they go back. */
export function thoughts(message: Message, { sdk, responses }: Named): Replayed {
  if (responses) {
    const { id, encrypted_content, summary } = message.responses_reasoning_item ?? {}
    if (!encrypted_content) return { parts: [], ofFirstCall: undefined }
    const namespace = sdk === 'azure' ? 'azure' : 'openai'
    const seals = { ...(id && { itemId: id }), reasoningEncryptedContent: encrypted_content }
    const texts = summary?.length ? summary : ['']
    return {
      parts: texts.map(text => ({ type: 'reasoning', text, providerOptions: { [namespace]: seals } })),
      ofFirstCall: undefined,
    }
  }
  if (sdk !== 'anthropic' && sdk !== 'bedrock' && sdk !== 'google') return { parts: [], ofFirstCall: undefined }
  const part = (text: string, seals: Record<string, string>): LanguageModelV4ReasoningPart => ({
    type: 'reasoning',
    text,
    providerOptions: { [sdk]: seals },
  })
  const parts: LanguageModelV4ReasoningPart[] = []
  let ofFirstCall: SharedV4ProviderOptions | undefined
  for (const block of message.thinking_blocks) {
    if (block.type === 'redacted_thinking') {
      if (sdk === 'anthropic') parts.push(part('', { redactedData: block.data }))
      if (sdk === 'bedrock') parts.push(part('', { redactedContent: block.data }))
      continue
    }
    const { thinking, signature } = block
    if (!signature) continue
    if (sdk !== 'google') parts.push(part(thinking, { signature }))
    else if (thinking) parts.push(part(thinking, { thoughtSignature: signature }))
    else ofFirstCall = { google: { thoughtSignature: signature } }
  }
  return { parts, ofFirstCall }
}
