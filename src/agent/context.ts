import type { Content, Message } from '../api/common.ts'
import type { ActionEvent, Event, ObservationEvent } from '../api/events.ts'

export interface ContextOptions {
  /** Of one message; longer ones keep their beginning and their end. */
  maxCharacters: number
  /** Whether images may be shown. */
  sees: boolean
  /** Thoughts from before are left out: they are another model's, sealed for it. A timestamp as events have it. */
  since?: string | undefined
}

/**
 * What a model is shown of a branch. Every tool call is followed by its result at once, whatever came between them in the log, and one
 * that has none is given one: providers refuse everything else.
 */
export function messagesOf(events: readonly Event[], options: ContextOptions): Message[] {
  const results = new Map<string, readonly Content[]>()
  for (const event of events) {
    const result = resultOf(event)
    if (result) results.set(result.call, result.content)
  }
  const messages: Message[] = []
  for (let i = 0; i < events.length; i++) {
    const event = events[i]!
    const isForeign = options.since !== undefined && event.timestamp < options.since
    if (event.kind === 'ActionEvent') {
      const { actions, last } = batchFrom(events, i)
      i = last
      messages.push(isForeign ? withoutThoughts(callsOf(actions)) : callsOf(actions))
      for (const { tool_call, tool_name } of actions)
        messages.push({
          role: 'tool',
          tool_call_id: tool_call.id,
          name: tool_name,
          content: [...(results.get(tool_call.id) ?? text(NO_RESULT))],
          thinking_blocks: [],
        })
    } else messages.push(...(isForeign ? said(event).map(withoutThoughts) : said(event)))
  }
  return messages.map(message =>
    message.role === 'system' ? message : { ...message, content: fitting(message.content, options) },
  )
}

const withoutThoughts = ({ role, content, tool_calls, tool_call_id, name }: Message): Message => ({
  role,
  content,
  ...(tool_calls && { tool_calls }),
  ...(tool_call_id && { tool_call_id }),
  ...(name && { name }),
  thinking_blocks: [],
})

const NO_RESULT = 'There is no result: this call was not run.'

const text = (value: string): Content[] => [{ type: 'text', text: value, cache_prompt: false }]

/** The actions of one answer. Those that were not understood are answered in their midst: that parts nothing. */
function batchFrom(events: readonly Event[], from: number): { actions: ActionEvent[]; last: number } {
  const { llm_response_id } = events[from] as ActionEvent
  const actions: ActionEvent[] = []
  let last = from
  for (let i = from; i < events.length; i++) {
    const event = events[i]!
    if (event.kind === 'AgentErrorEvent' && event.tool_call_id === actions.at(-1)?.tool_call_id) continue
    if (event.kind !== 'ActionEvent' || event.llm_response_id !== llm_response_id) break
    actions.push(event)
    last = i
  }
  return { actions, last }
}

const callsOf = (batch: readonly ActionEvent[]): Message => {
  const [first] = batch
  return {
    role: 'assistant',
    content: batch.flatMap(({ thought }) => thought),
    tool_calls: batch.map(({ tool_call }) => tool_call),
    thinking_blocks: first?.thinking_blocks ?? [],
    ...(first?.reasoning_content && { reasoning_content: first.reasoning_content }),
    ...(first?.responses_reasoning_item && { responses_reasoning_item: first.responses_reasoning_item }),
  }
}

/** What a model reads of a result: of a command also what stands around its output. */
export function observedBy({ observation, extended_content }: ObservationEvent): Content[] {
  if (observation.kind !== 'TerminalObservation') return [...observation.content, ...extended_content]
  const { prefix, suffix } = observation.metadata
  const printed = observation.content.map(part => (part.type === 'text' ? part.text : '')).join('')
  return [...text(prefix + printed + suffix), ...extended_content]
}

function resultOf(event: Event): { call: string; content: readonly Content[] } | undefined {
  switch (event.kind) {
    case 'ObservationEvent':
      return { call: event.tool_call_id, content: observedBy(event) }
    case 'AgentErrorEvent':
      return { call: event.tool_call_id, content: text(event.error) }
    case 'UserRejectObservation':
      return { call: event.tool_call_id, content: text(`This was rejected and not run. ${event.rejection_reason}`) }
    default:
      return undefined
  }
}

function said(event: Event): Message[] {
  switch (event.kind) {
    case 'SystemPromptEvent': {
      const { system_prompt, dynamic_context } = event
      return [
        {
          role: 'system',
          content: dynamic_context ? [system_prompt, dynamic_context] : [system_prompt],
          thinking_blocks: [],
        },
      ]
    }
    case 'MessageEvent':
      return [{ ...event.llm_message, content: [...event.llm_message.content, ...event.extended_content] }]
    case 'CondensationSummaryEvent':
      return [{ role: 'user', content: text(event.summary), thinking_blocks: [] }]
    default:
      return []
  }
}

function fitting(content: readonly Content[], { maxCharacters, sees }: ContextOptions): Content[] {
  const shown = content.flatMap(part =>
    part.type !== 'image' || sees ? [part] : text('[An image that this model cannot see.]'),
  )
  const length = shown.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length <= maxCharacters) return shown
  return shown.map(part => {
    if (part.type !== 'text') return part
    return { ...part, text: shortened(part.text, Math.floor((maxCharacters * part.text.length) / length)) }
  })
}

/** The beginning and the end of a text that is too long. */
export function shortened(value: string, limit: number): string {
  if (value.length <= limit) return value
  const half = Math.max(0, Math.floor(limit / 2))
  const left = value.length - 2 * half
  return `${value.slice(0, half)}\n[… ${left} characters are left out here …]\n${value.slice(value.length - half)}`.toWellFormed()
}
