import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { EventRecord } from '../store/store.ts'
import type { Feed } from './feed.ts'
import type { Journal } from './journal.ts'

/** Resolves with the status in which a conversation comes to rest. */
export type Settled = (id: string, signal: AbortSignal) => Promise<ConversationExecutionStatus>

/** Those that wait for an answer rest only where `isRest` says so. */
export const settling =
  (feed: Feed, journal: Journal, isRest = (status: string) => status !== 'waiting_for_confirmation'): Settled =>
  async (id, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<ConversationExecutionStatus>()
    const look = (status: unknown) => {
      if (typeof status === 'string' && status !== 'running' && isRest(status))
        resolve(status as ConversationExecutionStatus)
    }
    const leave = feed.listen(id, {
      events: records => {
        for (const record of records) look(statusIn(record))
      },
      passing: () => undefined,
      deleted: () => resolve('deleting'),
    })
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    try {
      look((await journal.view(id))?.state.execution_status ?? 'deleting')
      return await promise
    } finally {
      leave()
      signal.removeEventListener('abort', abort)
    }
  }

function statusIn({ kind, json }: EventRecord): unknown {
  if (kind !== 'ConversationStateUpdateEvent') return undefined
  const { key, value } = JSON.parse(json)
  return key === 'execution_status' ? value : undefined
}
