import type { HookExecutionEvent } from '../../api/events.ts'
import type { HookDefinition, HookEventType } from '../../api/hooks.ts'

/** Text in an event, by the contract. */
const EVENT_TEXT = 50_000

/** The stages where a hook can say no. Elsewhere what it answers is recorded and stops nothing. */
const BLOCKING: ReadonlySet<HookEventType> = new Set(['PreToolUse', 'UserPromptSubmit', 'Stop'])

export interface HookInput {
  toolName?: string
  toolInput?: Record<string, unknown>
  toolResponse?: Record<string, unknown>
  message?: string
  metadata?: Record<string, unknown>
}

export interface HookResult {
  /** Whoever records it adds which action or message it was about. */
  event: Omit<HookExecutionEvent, 'id' | 'timestamp' | 'parent_id'>
  blocked: boolean
  /** Why, when it said so. Always there when it blocked. */
  reason: string | null
  /** For the model. */
  additionalContext: string | null
  /** False when it said that the agent must not go on. */
  continue: boolean
}

/** What came of one hook. */
export interface Answer {
  code: number
  stdout: string
  stderr: string
  /** Why there is no exit code of its own. */
  error?: string
}

export const nameOf = (hook: HookDefinition): string => hook.name ?? (hook.command || hook.prompt || hook.type)

/** What a hook's answer means where it was asked. */
export function judge(hook: HookDefinition, stage: HookEventType, input: HookInput, answer: Answer): HookResult {
  const said = answer.error === undefined ? decisionIn(answer.stdout) : {}
  const goesOn = said.continue !== false
  const denies = answer.code === 2 || said.deny === true || !goesOn
  const blocked = denies && BLOCKING.has(stage)
  const reason = said.reason ?? (denies ? answer.stderr.trim() || `Blocked by the hook ${nameOf(hook)}` : null)
  const additionalContext = said.additionalContext ?? null
  return {
    blocked,
    reason: reason && short(reason),
    additionalContext: additionalContext && short(additionalContext),
    continue: goesOn,
    event: {
      kind: 'HookExecutionEvent',
      source: 'hook',
      hook_event_type: stage,
      hook_command: short(hook.type === 'command' ? hook.command : nameOf(hook)),
      tool_name: input.toolName ?? null,
      success: answer.code === 0,
      blocked,
      exit_code: answer.code,
      stdout: short(answer.stdout),
      stderr: short(answer.stderr),
      reason: reason && short(reason),
      additional_context: additionalContext && short(additionalContext),
      error: answer.error === undefined ? null : short(answer.error),
      hook_input: shown(input),
    },
  }
}

interface Decision {
  deny?: boolean
  reason?: string
  additionalContext?: string
  continue?: boolean
}

function decisionIn(stdout: string): Decision {
  let said: unknown
  try {
    said = JSON.parse(stdout)
  } catch {
    return {}
  }
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return {}
  const { decision, reason, additionalContext, continue: goOn } = said as Record<string, unknown>
  return {
    deny: typeof decision === 'string' && ['deny', 'block'].includes(decision.toLowerCase()),
    ...(typeof reason === 'string' && reason !== '' && { reason }),
    ...(typeof additionalContext === 'string' && additionalContext !== '' && { additionalContext }),
    continue: goOn !== false,
  }
}

/** What it was told, as events show it: whole, or where that is too long, only what it was about. */
function shown(input: HookInput): Record<string, unknown> {
  const { toolName: tool_name, toolInput: tool_input, toolResponse: tool_response, message } = input
  const whole = Object.entries({ tool_name, tool_input, tool_response, message }).filter(
    ([, value]) => value !== undefined,
  )
  const length = JSON.stringify(whole).length
  if (length <= EVENT_TEXT) return Object.fromEntries(whole)
  return { ...(tool_name !== undefined && { tool_name }), cut: `${length} characters` }
}

const short = (text: string): string => (text.length <= EVENT_TEXT ? text : text.slice(0, EVENT_TEXT).toWellFormed())
