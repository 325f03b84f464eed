import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Content, Message, MessageToolCall } from '../../api/common.ts'
import type { Named } from './names.ts'
import { thoughts } from './thoughts.ts'

export interface Manner {
  sees: boolean
  /** Reasoning goes back as plain text. */
  rereads: boolean
}

type Text = { type: 'text'; text: string }
type Assistant = Extract<LanguageModelV4Message, { role: 'assistant' }>
type Tool = Extract<LanguageModelV4Message, { role: 'tool' }>

/** What was said so far, for a provider. */
export function promptOf(messages: readonly Message[], named: Named, manner: Manner): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  const names = new Map<string, string>()
  // Where results hold no images, those follow as if a person had shown them: after all results of a turn, never between.
  let shown: LanguageModelV4FilePart[] = []
  const show = () => {
    if (shown.length === 0) return
    prompt.push({ role: 'user', content: [{ type: 'text', text: 'Images of the results above:' }, ...shown] })
    shown = []
  }
  for (const message of messages) {
    if (message.role !== 'tool') show()
    if (message.role === 'system') {
      for (const text of systemTexts(message, named)) prompt.push({ role: 'system', content: text })
    } else if (message.role === 'user') {
      const content = userParts(message.content, named, manner)
      if (content.length > 0) prompt.push({ role: 'user', content })
    } else if (message.role === 'assistant') {
      for (const { id, name } of message.tool_calls ?? []) names.set(id, name)
      const content = assistantParts(message, named, manner)
      // A thought that led to nothing is refused by some.
      if (content.some(({ type }) => type !== 'reasoning')) prompt.push({ role: 'assistant', content })
    } else {
      const parts = userParts(message.content, named, manner)
      const images = parts.filter(part => part.type === 'file')
      const inside = images.length > 0 && holdsImages(named)
      const text = parts.map(part => (part.type === 'text' ? part.text : '')).join('')
      if (!inside) shown.push(...images)
      const id = message.tool_call_id ?? ''
      const last = prompt.at(-1)
      const results: Tool = last?.role === 'tool' ? last : { role: 'tool', content: [] }
      if (results !== last) prompt.push(results)
      results.content.push({
        type: 'tool-result',
        toolCallId: id,
        toolName: message.name ?? names.get(id) ?? 'unknown',
        output: inside ? { type: 'content', value: parts } : { type: 'text', value: text },
      })
    }
  }
  show()
  return prompt
}

/** As blocks of their own where each can be cached, otherwise as one: some servers take no second system message. */
function systemTexts({ content }: Message, { sdk }: Named): string[] {
  const texts = content.flatMap(part => (part.type === 'text' && part.text.trim() ? [part.text] : []))
  if (texts.length === 0) return []
  return sdk === 'anthropic' || sdk === 'bedrock' ? texts : [texts.join('\n\n')]
}

const holdsImages = ({ sdk, responses }: Named) => sdk === 'anthropic' || sdk === 'bedrock' || responses

function userParts(content: Content[], named: Named, { sees }: Manner): (Text | LanguageModelV4FilePart)[] {
  const parts: (Text | LanguageModelV4FilePart)[] = []
  const say = (text: string) => {
    const last = parts.at(-1)
    if (last?.type === 'text') last.text += `\n${text}`
    else if (text.trim()) parts.push({ type: 'text', text })
  }
  for (const part of content) {
    if (part.type === 'text') say(part.text)
    else if (!sees) say('[an image, not shown: this model takes none]')
    else
      for (const url of part.image_urls) {
        const image = imageOf(url, named)
        if (typeof image === 'string') say(image)
        else parts.push(image)
      }
  }
  return parts
}

const DATA_URL = /^data:(image\/[\w.+-]+);base64,(.*)$/s

/** As a part, or in words why not. */
function imageOf(url: string, { sdk }: Named): LanguageModelV4FilePart | string {
  const [, mediaType, data] = DATA_URL.exec(url) ?? []
  if (mediaType && data) return { type: 'file', mediaType, data: { type: 'data', data } }
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return '[an image, not shown: its address is neither data nor http]'
  if (sdk === 'google' || sdk === 'bedrock') return `[an image, not shown: this model takes no addresses: ${url}]`
  return { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(url) } }
}

function assistantParts(message: Message, named: Named, { rereads }: Manner): Assistant['content'] {
  const content: Assistant['content'] = []
  const kept = thoughts(message, named)
  content.push(...kept.parts)
  if (rereads && message.reasoning_content) content.push({ type: 'reasoning', text: message.reasoning_content })
  for (const part of message.content)
    if (part.type === 'text' && part.text.trim()) content.push({ type: 'text', text: part.text })
  for (const [i, call] of (message.tool_calls ?? []).entries())
    content.push({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      input: inputOf(call),
      ...(i === 0 && kept.ofFirstCall && { providerOptions: kept.ofFirstCall }),
    })
  return content
}

/** Every provider takes an object only: what a model wrote that is none is shown to it inside one. */
function inputOf({ arguments: text }: MessageToolCall): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  return { malformed_arguments: text }
}
