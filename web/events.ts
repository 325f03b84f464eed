import { wordFor } from './conversations.ts'
import { type Content, folded, h, json, when } from './dom.ts'

interface Part {
  type: string
  text?: string
}

/** What this page reads of an event; every kind has some of it. */
export interface LogEvent {
  id: string
  kind: string
  source: string
  timestamp: string
  llm_message?: { content?: Part[]; reasoning_content?: string | null }
  thought?: Part[]
  reasoning_content?: string | null
  action?: Record<string, unknown> | null
  action_id?: string
  tool_name?: string
  tool_call?: { arguments?: string }
  security_risk?: string
  observation?: { content?: Part[]; is_error?: boolean; exit_code?: number | null }
  rejection_reason?: string
  error?: string
  code?: string
  detail?: string
  content?: string | null
  summary?: string | null
  system_prompt?: Part
  tools?: unknown[]
  key?: string
  value?: unknown
}

type Render = (event: LogEvent) => HTMLElement | undefined

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are steered by control characters
const terminalCodes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\r(?=\n)/g

export const plain = (text: string): string => text.replace(terminalCodes, '')

const textOf = (parts: Part[] = []): string =>
  parts.map(part => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')

const prose = (text: string): HTMLElement => h('p', { className: 'prose' }, plain(text).trim())
const output = (text: string): HTMLElement => h('pre', {}, plain(text).trimEnd())
const quietLine = (text: string): HTMLElement => h('p', { className: 'quiet line' }, text)

const reasoning = (text: string | null | undefined): Content[] =>
  text ? [folded('Reasoning', () => [prose(text)], 'quiet')] : []

function card(className: string, event: LogEvent, heading: Content[], ...content: Content[]): HTMLElement {
  const head = h('header', {}, ...heading, when(event.timestamp))
  return h('article', { className: `event ${className}` }, head, ...content)
}

export function message(event: LogEvent, text: string, thinking?: string | null): HTMLElement {
  const isUser = event.source === 'user'
  const from = h('strong', {}, isUser ? 'You' : event.source === 'agent' ? 'Agent' : event.source)
  return card(isUser ? 'user' : 'agent', event, [from], ...reasoning(thinking), prose(text))
}

const failure = (event: LogEvent, title: string, text: string): HTMLElement =>
  card('failure', event, [h('strong', {}, title)], prose(text))

/** The one thing worth seeing of an action; everything else is folded. */
function gist(action: Record<string, unknown>): Content[] {
  const { kind: _, command, path, message: text, thought, ...rest } = action
  const said = [text, thought].filter(value => typeof value === 'string')
  if (said.length > 0) return said.map(prose)
  if (typeof path === 'string') return [output([command, path].filter(Boolean).join(' ')), ...details(rest)]
  if (typeof command === 'string') return [output(`$ ${command}`)]
  return details(action)
}

const details = (fields: Record<string, unknown>): Content[] =>
  Object.keys(fields).length > 0 ? [folded('Details', () => [json(fields)], 'quiet')] : []

const risks: Record<string, string> = { MEDIUM: 'medium risk', HIGH: 'high risk' }

function action(event: LogEvent): HTMLElement {
  const risk = risks[event.security_risk ?? '']
  const heading = [
    h('strong', {}, event.tool_name ?? 'action'),
    ...(risk ? [h('span', { className: 'risk' }, risk)] : []),
  ]
  const thought = textOf(event.thought)
  return card(
    'action',
    event,
    heading,
    ...reasoning(event.reasoning_content),
    ...(thought ? [prose(thought)] : []),
    ...(event.action ? gist(event.action) : [output(event.tool_call?.arguments ?? '')]),
  )
}

function observation(event: LogEvent): HTMLElement {
  const { content, is_error: isError, exit_code: exitCode } = event.observation ?? {}
  const failed = isError || (typeof exitCode === 'number' && exitCode > 0)
  const text = textOf(content)
  const label = exitCode === undefined || exitCode === null ? 'Result' : `Result, exit code ${exitCode}`
  const element = h('section', { className: failed ? 'result failed' : 'result', ariaLabel: label })
  if (failed) element.append(h('strong', {}, label))
  element.append(text ? output(text) : h('p', { className: 'quiet' }, 'No output'))
  return element
}

/** Keys of the state that are bookkeeping and say nothing to a person. */
const bookkeeping = new Set(['full_state', 'stats', 'last_user_message_id', 'leaf_event_id', 'agent_state'])

function stateUpdate({ key = '', value }: LogEvent): HTMLElement | undefined {
  if (bookkeeping.has(key) || typeof value === 'object') return undefined
  const text = String(value)
  return quietLine(key === 'execution_status' ? wordFor(text) : `${key.replaceAll('_', ' ')}: ${text}`)
}

const renderers: Record<string, Render> = {
  MessageEvent: event => message(event, textOf(event.llm_message?.content), event.llm_message?.reasoning_content),
  ActionEvent: action,
  ObservationEvent: observation,
  UserRejectObservation: event => failure(event, 'Rejected', event.rejection_reason ?? ''),
  AgentErrorEvent: event => failure(event, `Error in ${event.tool_name ?? 'the agent'}`, event.error ?? ''),
  ConversationErrorEvent: event => failure(event, event.code ?? 'Error', event.detail ?? ''),
  ServerErrorEvent: event => failure(event, event.code ?? 'Error', event.detail ?? ''),
  ConversationStateUpdateEvent: stateUpdate,
  PauseEvent: () => quietLine('Paused'),
  InterruptEvent: () => quietLine('Interrupted'),
  CondensationRequest: () => quietLine('A shorter history was asked for'),
  Condensation: event =>
    folded('Older history was summarised for the model', () => [prose(event.summary ?? '')], 'quiet'),
  SystemPromptEvent: event =>
    folded(
      `System prompt, ${event.tools?.length ?? 0} tools`,
      () => [output(event.system_prompt?.text ?? '')],
      'quiet',
    ),
}

/** How an event looks; undefined when there is nothing to see. A kind we do not know is shown as it came. */
export const render: Render = event =>
  Object.hasOwn(renderers, event.kind)
    ? renderers[event.kind]!(event)
    : folded(event.kind, () => [json(event)], 'quiet')
