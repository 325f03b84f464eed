import type { Store } from '../store/store.ts'
import type { Order } from './order.ts'
import type { Runner } from './runner.ts'

const PAGE = 100

/**
 * After a crash: runs that were going are taken up again. What waits for an answer goes on waiting. Sub-agents rest, for nobody waits for
 * them any more: whoever sent them is told, and may go on with them.
 */
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
    for (const { id, no } of items) {
      const [parts] = await store.conversationParts([no], ['order'])
      const order: Order | undefined = parts?.order && JSON.parse(parts.order)
      if (order?.options.subagent_of) await runner.interrupt(id)
      else await runner.wake(id)
    }
    from = next
  } while (from)
}
