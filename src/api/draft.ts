import type { ConversationExecutionStatus } from './conversations.ts'
import type { Event } from './events.ts'

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** An event before it has a place in the log. The id may be chosen, where a later draft speaks of it. */
export type Draft = DistributiveOmit<Event, 'id' | 'timestamp' | 'parent_id'> & { id?: string }

export const stateUpdate = (key: string, value: unknown): Draft => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})

export const statusUpdate = (status: ConversationExecutionStatus): Draft => stateUpdate('execution_status', status)
