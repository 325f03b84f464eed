import type { Action } from '../../src/api/actions.ts'
import type { ActionEvent, AgentErrorEvent, Event, MessageEvent, ObservationEvent } from '../../src/api/events.ts'
import type { TerminalObservation } from '../../src/api/observations.ts'
import { newId } from '../../src/lib/id.ts'

const envelope = () => ({ id: newId(), timestamp: new Date().toISOString() })
const text = (value: string) => [{ type: 'text' as const, text: value, cache_prompt: false }]

export const aPrompt = (): Event => ({
  ...envelope(),
  kind: 'SystemPromptEvent',
  source: 'agent',
  system_prompt: text('You work.')[0]!,
  tools: [],
})

export const aMessage = (source: MessageEvent['source'], said = 'hello'): MessageEvent => ({
  ...envelope(),
  kind: 'MessageEvent',
  source,
  llm_message: { role: source === 'agent' ? 'assistant' : 'user', content: text(said), thinking_blocks: [] },
  activated_skills: [],
  extended_content: [],
})

export const terminalAction = (command: string): Action => ({
  kind: 'TerminalAction',
  command,
  is_input: false,
  reset: false,
})

export const anAction = (action: Action | string | null, response = newId()): ActionEvent => {
  const call = newId()
  const meant = typeof action === 'string' ? terminalAction(action) : action
  return {
    ...envelope(),
    kind: 'ActionEvent',
    source: 'agent',
    thought: text(newId()),
    thinking_blocks: [],
    ...(meant && { action: meant }),
    tool_name: 'terminal',
    tool_call_id: call,
    tool_call: {
      id: call,
      name: 'terminal',
      arguments: JSON.stringify({ action, summary: newId() }),
      origin: 'completion',
    },
    llm_response_id: response,
    security_risk: 'UNKNOWN',
    summary: newId(),
  }
}

/** What a terminal shows: with a pid and folder of its own each time. */
export const shown = (output: string, exitCode = 0): TerminalObservation => ({
  kind: 'TerminalObservation',
  content: text(output),
  is_error: false,
  command: 'any',
  exit_code: exitCode,
  timeout: false,
  metadata: { exit_code: exitCode, pid: Math.floor(Math.random() * 1e6), prefix: '', suffix: '' },
  full_output_save_dir: newId(),
})

export const anObservation = (action: ActionEvent, output = '', exitCode = 0): ObservationEvent => ({
  ...envelope(),
  kind: 'ObservationEvent',
  source: 'environment',
  tool_name: action.tool_name,
  tool_call_id: action.tool_call_id,
  action_id: action.id,
  observation: shown(output, exitCode),
  extended_content: [],
})

export const anError = (action: ActionEvent, error = 'no'): AgentErrorEvent => ({
  ...envelope(),
  kind: 'AgentErrorEvent',
  source: 'agent',
  tool_name: action.tool_name,
  tool_call_id: action.tool_call_id,
  error,
  classification: { kind: 'agent_action', retryable: true, user_action: 'retry' },
})

export const aRejection = (action: ActionEvent): Event => ({
  ...envelope(),
  kind: 'UserRejectObservation',
  source: 'environment',
  tool_name: action.tool_name,
  tool_call_id: action.tool_call_id,
  action_id: action.id,
  rejection_reason: 'no',
  rejection_source: 'user',
})
