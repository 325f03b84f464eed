import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { isClaude } from './abilities.ts'
import type { Named } from './names.ts'

/**
 * Marks what the provider shall keep, where it has to be told: all up to the last two blocks of the system, and all up
 * to the last two turns of ours, so that the next question finds the previous one's. Anthropic takes four marks.
 */
export function markForCache(prompt: LanguageModelV4Prompt, named: Named): void {
  const mark = markOf(named)
  if (!mark) return
  const ours = prompt.filter(({ role }) => role === 'user' || role === 'tool').slice(-2)
  const system = prompt.filter(({ role }) => role === 'system').slice(-2)
  for (const message of [...system, ...ours]) put(mark, message)
}

function put(mark: SharedV4ProviderOptions, message: LanguageModelV4Message): void {
  if (message.role === 'system') message.providerOptions = mark
  else {
    const last = message.content.at(-1)
    if (last) last.providerOptions = mark
  }
}

function markOf({ sdk, id }: Named): SharedV4ProviderOptions | undefined {
  const ephemeral = { type: 'ephemeral' }
  if (sdk === 'anthropic') return { anthropic: { cacheControl: ephemeral } }
  if (sdk === 'bedrock' && isClaude(id)) return { bedrock: { cachePoint: { type: 'default' } } }
  if (sdk === 'compatible' && isClaude(id)) return { openaiCompatible: { cache_control: ephemeral } }
  return undefined
}

/** Marks are read from parts of a message only, and the library puts some on the message itself. */
export function marksInParts(body: Record<string, unknown>): Record<string, unknown> {
  const messages = (body.messages as Record<string, unknown>[]).map(message => {
    const { cache_control, ...rest } = message
    if (!cache_control || typeof rest.content !== 'string') return message
    return { ...rest, content: [{ type: 'text', text: rest.content, cache_control }] }
  })
  return { ...body, messages }
}
