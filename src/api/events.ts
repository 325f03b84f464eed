import * as z from 'zod'
import { Action, ToolDefinition } from './actions.ts'
import {
  anyMap,
  Content,
  Message,
  MessageToolCall,
  nullishText,
  page,
  ReasoningItemModel,
  Role,
  TextContent,
  Thinking,
} from './common.ts'
import { CriticResult } from './critic.ts'
import { type HookEventType, hookStages } from './hooks.ts'
import { Observation } from './observations.ts'
import { SecurityRisk } from './security.ts'

// What we emit: complete and without a key more, for readers reject unknown keys. Null fields may be left out.

export const EventSource = z.enum(['agent', 'user', 'environment', 'hook'])
export type EventSource = z.output<typeof EventSource>

const envelope = {
  id: z.string(),
  /** UTC without an offset. */
  timestamp: z.string(),
  source: EventSource,
  parent_id: nullishText,
}

const event = <const K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.strictObject({ ...envelope, ...shape, kind: z.literal(kind) }).meta({ id: kind })

export const FailureKind = z
  .enum(['auth', 'quota', 'rate_limit', 'config', 'transient', 'agent_action', 'internal', 'unknown'])
  .meta({ id: 'FailureKind' })
export type FailureKind = z.output<typeof FailureKind>

export const ErrorClassification = z
  .strictObject({
    kind: FailureKind,
    retryable: z.boolean(),
    user_action: z.enum(['none', 'retry', 'settings']),
    error_id: nullishText,
  })
  .meta({ id: 'ErrorClassification' })
export type ErrorClassification = z.output<typeof ErrorClassification>

export const SystemPromptEvent = event('SystemPromptEvent', {
  system_prompt: TextContent,
  tools: z.array(ToolDefinition),
  dynamic_context: TextContent.nullish(),
})
export type SystemPromptEvent = z.output<typeof SystemPromptEvent>

export const MessageEvent = event('MessageEvent', {
  llm_message: Message,
  llm_response_id: nullishText,
  activated_skills: z.array(z.string()),
  extended_content: z.array(TextContent),
  sender: nullishText,
  critic_result: CriticResult.nullish(),
})
export type MessageEvent = z.output<typeof MessageEvent>

export const ActionEvent = event('ActionEvent', {
  thought: z.array(TextContent),
  reasoning_content: nullishText,
  thinking_blocks: z.array(Thinking),
  responses_reasoning_item: ReasoningItemModel.nullish(),
  /** Absent when the call could not be understood: an AgentErrorEvent says why. */
  action: Action.nullish(),
  tool_name: z.string(),
  tool_call_id: z.string(),
  tool_call: MessageToolCall,
  llm_response_id: z.string(),
  security_risk: SecurityRisk,
  critic_result: CriticResult.nullish(),
  summary: nullishText,
})
export type ActionEvent = z.output<typeof ActionEvent>

export const ObservationEvent = event('ObservationEvent', {
  tool_name: z.string(),
  tool_call_id: z.string(),
  observation: Observation,
  action_id: z.string(),
  extended_content: z.array(TextContent),
})
export type ObservationEvent = z.output<typeof ObservationEvent>

/** Answers the action with the same `tool_call_id`. */
export const AgentErrorEvent = event('AgentErrorEvent', {
  tool_name: z.string(),
  tool_call_id: z.string(),
  error: z.string(),
  classification: ErrorClassification,
})
export type AgentErrorEvent = z.output<typeof AgentErrorEvent>

export const UserRejectObservation = event('UserRejectObservation', {
  tool_name: z.string(),
  tool_call_id: z.string(),
  rejection_reason: z.string(),
  rejection_source: z.enum(['user', 'hook']),
  action_id: z.string(),
})
export type UserRejectObservation = z.output<typeof UserRejectObservation>

export const ConversationStateUpdateEvent = event('ConversationStateUpdateEvent', {
  key: z.string(),
  value: z.unknown().optional(),
})
export type ConversationStateUpdateEvent = z.output<typeof ConversationStateUpdateEvent>

export const ConversationErrorEvent = event('ConversationErrorEvent', {
  code: z.string(),
  detail: z.string(),
  classification: ErrorClassification,
})
export type ConversationErrorEvent = z.output<typeof ConversationErrorEvent>

export const PauseEvent = event('PauseEvent', {})
export type PauseEvent = z.output<typeof PauseEvent>

export const InterruptEvent = event('InterruptEvent', {})
export type InterruptEvent = z.output<typeof InterruptEvent>

export const Condensation = event('Condensation', {
  forgotten_event_ids: z.array(z.string()),
  summary: nullishText,
  summary_offset: z.int().min(0).nullish(),
  llm_response_id: z.string(),
})
export type Condensation = z.output<typeof Condensation>

export const CondensationRequest = event('CondensationRequest', {})
export type CondensationRequest = z.output<typeof CondensationRequest>

export const CondensationSummaryEvent = event('CondensationSummaryEvent', { summary: z.string() })
export type CondensationSummaryEvent = z.output<typeof CondensationSummaryEvent>

export const StreamingDeltaEvent = event('StreamingDeltaEvent', {
  content: nullishText,
  reasoning_content: nullishText,
})
export type StreamingDeltaEvent = z.output<typeof StreamingDeltaEvent>

export const TokenEvent = event('TokenEvent', {
  prompt_token_ids: z.array(z.int()),
  response_token_ids: z.array(z.int()),
})
export type TokenEvent = z.output<typeof TokenEvent>

export const LLMCompletionLogEvent = event('LLMCompletionLogEvent', {
  filename: z.string(),
  /** JSON, as text. */
  log_data: z.string(),
  model_name: z.string(),
  usage_id: z.string(),
})
export type LLMCompletionLogEvent = z.output<typeof LLMCompletionLogEvent>

export const HookExecutionEvent = event('HookExecutionEvent', {
  hook_event_type: z.enum(Object.keys(hookStages) as HookEventType[]),
  hook_command: z.string(),
  tool_name: nullishText,
  success: z.boolean(),
  blocked: z.boolean(),
  exit_code: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  reason: nullishText,
  additional_context: nullishText,
  error: nullishText,
  action_id: nullishText,
  message_id: nullishText,
  hook_input: anyMap.nullish(),
})
export type HookExecutionEvent = z.output<typeof HookExecutionEvent>

export const ACPToolCallEvent = event('ACPToolCallEvent', {
  tool_call_id: z.string(),
  title: z.string(),
  status: nullishText,
  tool_kind: nullishText,
  raw_input: z.unknown().optional(),
  raw_output: z.unknown().optional(),
  content: z.array(z.unknown()).nullish(),
  is_error: z.boolean(),
})
export type ACPToolCallEvent = z.output<typeof ACPToolCallEvent>

export const ServerErrorEvent = event('ServerErrorEvent', { code: z.string(), detail: z.string() })
export type ServerErrorEvent = z.output<typeof ServerErrorEvent>

export const Event = z
  .discriminatedUnion('kind', [
    SystemPromptEvent,
    MessageEvent,
    ActionEvent,
    ObservationEvent,
    AgentErrorEvent,
    UserRejectObservation,
    ConversationStateUpdateEvent,
    ConversationErrorEvent,
    PauseEvent,
    InterruptEvent,
    Condensation,
    CondensationRequest,
    CondensationSummaryEvent,
    StreamingDeltaEvent,
    TokenEvent,
    LLMCompletionLogEvent,
    HookExecutionEvent,
    ACPToolCallEvent,
    ServerErrorEvent,
  ])
  .meta({ id: 'Event' })
export type Event = z.output<typeof Event>

export type EventKind = Event['kind']
/** Every kind there is. */
export const EventKind: readonly EventKind[] = Event.options.map(option => option.shape.kind.value)

export const EventPage = page('EventPage', Event)
export type EventPage = z.output<typeof EventPage>

export const SendMessageRequest = z
  .object({ role: Role.default('user'), content: z.array(Content).default([]), run: z.boolean().default(false) })
  .meta({ id: 'SendMessageRequest' })
export type SendMessageRequest = z.output<typeof SendMessageRequest>

const plainText = z.codec(z.string(), z.array(Content), {
  decode: text => [{ type: 'text' as const, text }],
  encode: content => content.map(part => ('text' in part ? part.text : '')).join('\n'),
})

/** A message as a WebSocket frame: only here may the content be plain text. */
export const SocketMessage = z.object({ role: Role, content: z.union([z.array(Content), plainText]).default([]) })
export type SocketMessage = z.output<typeof SocketMessage>
