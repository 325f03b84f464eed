import type { Content } from '../api/common.ts'
import type { ActionEvent, Event, ObservationEvent } from '../api/events.ts'
import { output, safe } from './text.ts'

export const textOf = (parts: readonly Content[]): string =>
  parts.map(part => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')

type Fields = Record<string, unknown>

/** Fields of an action that say something, as they are. */
function fieldsOf({ action, tool_call }: ActionEvent): Fields {
  if (!action) return { arguments: tool_call.arguments }
  const { kind: _, ...fields } = action as Fields
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Of an action, what a person wants to see at a glance. May be long; one line is made of it elsewhere. */
export function gist(event: ActionEvent): string {
  const { action, tool_name } = event
  if (action?.kind === 'TerminalAction' && 'command' in action) return `$ ${safe(String(action.command))}`
  const { command, path, file_path, dir_path, pattern, url, ...rest } = fieldsOf(event)
  const known = [command, pattern, path ?? file_path ?? dir_path ?? url].filter(value => typeof value === 'string')
  const said = known.length > 0 ? known.join(' ') : Object.values(rest).map(written).join(' ')
  return safe(`${tool_name} ${said}`)
}

/** All that an action will do, in full: somebody decides on it. */
export function details(event: ActionEvent): string {
  const { action, tool_name } = event
  if (action?.kind === 'TerminalAction' && 'command' in action && !action.is_input && !action.reset)
    return safe(`$ ${String(action.command).replaceAll('\n', '\n  ')}`)
  const lines = Object.entries(fieldsOf(event)).map(([name, value]) => {
    const text = written(value)
    return text.includes('\n') ? `${name}:\n  ${text.replaceAll('\n', '\n  ')}` : `${name}: ${text}`
  })
  return safe([tool_name, ...lines].join('\n'))
}

export interface Outcome {
  ok: boolean
  /** In a few words; may be long all the same. */
  text: string
}

/** What came of an action; undefined for events that are no result. */
export function outcomeOf(event: Event): { of: string; outcome: Outcome } | undefined {
  switch (event.kind) {
    case 'ObservationEvent':
      return { of: event.action_id, outcome: observed(event) }
    case 'UserRejectObservation':
      return { of: event.action_id, outcome: { ok: false, text: safe(`rejected: ${event.rejection_reason}`) } }
    case 'AgentErrorEvent':
      return { of: event.tool_call_id, outcome: { ok: false, text: output(event.error) } }
    default:
      return undefined
  }
}

function observed({ observation }: ObservationEvent): Outcome {
  const text = output(textOf(observation.content)).trim()
  const code = 'exit_code' in observation ? observation.exit_code : undefined
  if (typeof code !== 'number') return { ok: !observation.is_error, text: firstLine(text) }
  if (code === -1) return { ok: true, text: 'still running' }
  return { ok: code === 0, text: code === 0 ? lineCount(text) : `exit ${code}: ${lastLine(text)}` }
}

const firstLine = (text: string): string => text.split('\n', 1)[0]!
const lastLine = (text: string): string => text.slice(text.lastIndexOf('\n') + 1)

function lineCount(text: string): string {
  const count = text === '' ? 0 : text.split('\n').length
  return count <= 1 ? text : `${count} lines`
}
