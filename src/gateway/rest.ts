import type { ConversationExecutionStatus } from '../api/conversations.ts'
import type { Feed } from '../conversation/feed.ts'
import type { Journal } from '../conversation/journal.ts'
import type { EventRecord } from '../store/store.ts'

/** Resolves with the status in which a conversation is no longer worked on, be it that somebody has to say yes first. */
export async function atRest(
  { feed, journal }: { feed: Feed; journal: Journal },
  id: string,
  signal: AbortSignal,
): Promise<ConversationExecutionStatus> {
  const { promise, resolve, reject } = Promise.withResolvers<ConversationExecutionStatus>()
  const look = (status: ConversationExecutionStatus | undefined) => {
    if (status !== undefined && status !== 'running') resolve(status)
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

function statusIn({ kind, json }: EventRecord): ConversationExecutionStatus | undefined {
  if (kind !== 'ConversationStateUpdateEvent') return undefined
  const { key, value } = JSON.parse(json)
  return key === 'execution_status' ? value : undefined
}
