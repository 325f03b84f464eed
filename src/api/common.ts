import * as z from 'zod'
import { canonicalUuid } from '../lib/id.ts'
import { secret } from './secret.ts'

/** A UUID as a caller may write it: dashed or 32 hex digits, in any case. Read as dashed lower-case. */
export const uuid = () =>
  z
    .string()
    .refine(text => canonicalUuid(text) !== undefined, {
      error: 'Input should be a valid UUID',
      params: { type: 'uuid_parsing' },
    })
    .overwrite(text => canonicalUuid(text) ?? text)
    .meta({ format: 'uuid' })

export const uuidOut = z.string().meta({ format: 'uuid' })
export const dateTimeOut = z.string().meta({ format: 'date-time' })

/** May be left out or null, and is null then. */
export const orNull = <T extends z.ZodType>(schema: T) => z.nullable(schema).default(null)

// Shared instances: a schema costs time to make, and the cold start pays for each.
export const nullishText = z.string().nullish()
export const textOrNull = orNull(z.string())
export const secretOrNull = orNull(secret())
export const strings = z.array(z.string()).default([])
export const anyMap = z.record(z.string(), z.unknown())
export const secretMap = z.record(z.string(), secret())

export const Success = z.object({ success: z.boolean().default(true) }).meta({ id: 'Success' })
export type Success = z.output<typeof Success>

export const page = <T extends z.ZodType>(name: string, item: T) =>
  z.object({ items: z.array(item), next_page_id: z.string().nullable() }).meta({ id: name })

export const TextContent = z
  .strictObject({
    cache_prompt: z.boolean().default(false),
    type: z.literal('text').optional().default('text'),
    text: z.string(),
  })
  .meta({ id: 'TextContent' })
export type TextContent = z.output<typeof TextContent>

export const ImageContent = z
  .strictObject({
    cache_prompt: z.boolean().default(false),
    type: z.literal('image').optional().default('image'),
    image_urls: z.array(z.string()),
  })
  .meta({ id: 'ImageContent' })
export type ImageContent = z.output<typeof ImageContent>

/** Without a `type` the other fields decide: hence the fallback. */
export const Content = z.discriminatedUnion('type', [TextContent, ImageContent], { unionFallback: true })
export type Content = z.output<typeof Content>

export const ThinkingBlock = z
  .object({
    type: z.literal('thinking').optional().default('thinking'),
    thinking: z.string(),
    signature: nullishText,
  })
  .meta({ id: 'ThinkingBlock' })
export type ThinkingBlock = z.output<typeof ThinkingBlock>

export const RedactedThinkingBlock = z
  .object({ type: z.literal('redacted_thinking').optional().default('redacted_thinking'), data: z.string() })
  .meta({ id: 'RedactedThinkingBlock' })
export type RedactedThinkingBlock = z.output<typeof RedactedThinkingBlock>

export const Thinking = z.discriminatedUnion('type', [ThinkingBlock, RedactedThinkingBlock], { unionFallback: true })
export type Thinking = z.output<typeof Thinking>

export const ReasoningItemModel = z
  .object({
    id: nullishText,
    summary: strings,
    content: z.array(z.string()).nullish(),
    encrypted_content: nullishText,
    status: nullishText,
  })
  .meta({ id: 'ReasoningItemModel' })
export type ReasoningItemModel = z.output<typeof ReasoningItemModel>

export const MessageToolCall = z
  .object({
    id: z.string(),
    responses_item_id: nullishText,
    name: z.string(),
    /** JSON, as text. */
    arguments: z.string(),
    origin: z.enum(['completion', 'responses']),
  })
  .meta({ id: 'MessageToolCall' })
export type MessageToolCall = z.output<typeof MessageToolCall>

export const Role = z.enum(['user', 'system', 'assistant', 'tool'])
export type Role = z.output<typeof Role>

export const Message = z
  .object({
    role: Role,
    content: z.array(Content).default([]),
    tool_calls: z.array(MessageToolCall).nullish(),
    tool_call_id: nullishText,
    name: nullishText,
    reasoning_content: nullishText,
    thinking_blocks: z.array(Thinking).default([]),
    responses_reasoning_item: ReasoningItemModel.nullish(),
  })
  .meta({ id: 'Message' })
export type Message = z.output<typeof Message>
