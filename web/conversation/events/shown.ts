import type { Event } from '../../../src/api/events.ts'

/** Kinds that are for machines. */
const UNSEEN: ReadonlySet<Event['kind']> = new Set(['StreamingDeltaEvent', 'TokenEvent', 'LLMCompletionLogEvent'])

/** Whether it tells a person something. */
export function isShown(event: Event): boolean {
  if (event.kind === 'ConversationStateUpdateEvent') return stateWords(event.key, event.value) !== undefined
  return !UNSEEN.has(event.kind)
}

const POLICIES: Record<string, string> = {
  AlwaysConfirm: 'From here on the agent asks before every action.',
  NeverConfirm: 'From here on the agent acts without asking.',
  ConfirmRisky: 'From here on the agent asks before risky actions.',
}

/** The few changes of state that nothing else in the timeline tells. */
export function stateWords(key: string, value: unknown): string | undefined {
  if (key === 'execution_status' && value === 'stuck')
    return 'The agent repeated itself and was stopped. A new message helps it on.'
  if (key === 'confirmation_policy') return POLICIES[(value as { kind?: string } | null)?.kind ?? '']
  return undefined
}
