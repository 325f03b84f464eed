import * as z from 'zod'
import { orNull, textOrNull } from './common.ts'

// Another provider's interface, as far as it can be spoken by something that is more than a model. What it does not know is not read.

const OpenAIContentPart = z
  .object({
    type: z.string(),
    text: textOrNull,
    image_url: orNull(z.union([z.object({ url: z.string() }), z.string()])),
  })
  .meta({ id: 'OpenAIContentPart' })

export const OpenAIChatMessage = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: orNull(z.union([z.string(), z.array(OpenAIContentPart)])),
  })
  .meta({ id: 'OpenAIChatMessage' })
export type OpenAIChatMessage = z.output<typeof OpenAIChatMessage>

export const OpenAIChatCompletionRequest = z
  .object({
    model: z.string(),
    messages: z.array(OpenAIChatMessage),
    stream: z.boolean().default(false),
    stream_options: orNull(z.object({ include_usage: z.boolean().default(false) })),
  })
  .meta({ id: 'OpenAIChatCompletionRequest' })
export type OpenAIChatCompletionRequest = z.output<typeof OpenAIChatCompletionRequest>

const CompletionUsage = z
  .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
  .meta({ id: 'CompletionUsage' })
export type CompletionUsage = z.output<typeof CompletionUsage>

export const ChatCompletion = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    /** Unix seconds. */
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        message: z.object({ role: z.literal('assistant'), content: z.string() }),
        finish_reason: z.literal('stop'),
      }),
    ),
    usage: CompletionUsage,
  })
  .meta({ id: 'ChatCompletion' })
export type ChatCompletion = z.output<typeof ChatCompletion>

export const OpenAIModelListResponse = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() }).meta({
        id: 'Model',
      }),
    ),
  })
  .meta({ id: 'OpenAIModelListResponse' })
export type OpenAIModelListResponse = z.output<typeof OpenAIModelListResponse>

export const CONVERSATION_HEADER = 'X-OpenHands-ServerConversation-ID'
