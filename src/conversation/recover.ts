import type { Store } from '../store/store.ts'
import type { Runner } from './runner.ts'

const PAGE = 100

/** After a crash: runs that were going are taken up again. What waits for an answer goes on waiting. */
export async function recover(store: Store, runner: Runner): Promise<void> {
  let from: string | undefined
  do {
    const { items, next } = await store.searchConversations({
      order: 'created',
      descending: false,
      limit: PAGE,
      status: 'running',
      ...(from && { from }),
    })
    for (const { id } of items) runner.wake(id)
    from = next
  } while (from)
}
