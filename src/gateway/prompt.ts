import type { Content } from '../api/common.ts'
import type { OpenAIChatMessage } from '../api/completions.ts'
import { fault } from '../api/errors.ts'

/** What of a list of messages a conversation is told: it remembers by itself what was said before. */
export interface Prompt {
  /** Of the user's last message. */
  content: Content[]
  /** What the system is told beside what it knows. */
  system: string | null
  /** What the conversation may be called. */
  title: string
}

const TITLE_CHARACTERS = 80

export function promptOf(messages: readonly OpenAIChatMessage[]): Prompt {
  const last = messages.findLast(({ role }) => role === 'user')
  const content = last ? contentOf(last) : []
  if (content.length === 0) throw fault('invalid_request', 'A message of the user is needed, with text or a picture')
  const system = messages.filter(({ role }) => role === 'system' || role === 'developer').map(textOf)
  return {
    content,
    system: system.filter(Boolean).join('\n\n') || null,
    title: textOf(last!).trim().split('\n')[0]!.slice(0, TITLE_CHARACTERS).toWellFormed() || 'Chat completion',
  }
}

function contentOf({ content }: OpenAIChatMessage): Content[] {
  const parts = typeof content === 'string' ? [{ text: content, image_url: null }] : (content ?? [])
  return parts.flatMap(({ text, image_url }): Content[] => {
    const url = typeof image_url === 'string' ? image_url : image_url?.url
    return [
      ...(text ? [{ type: 'text' as const, text, cache_prompt: false }] : []),
      ...(url ? [{ type: 'image' as const, image_urls: [url], cache_prompt: false }] : []),
    ]
  })
}

const textOf = ({ content }: OpenAIChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).flatMap(({ text }) => text ?? []).join('\n')
