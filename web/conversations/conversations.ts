import { type ReadonlySignal, signal } from '@preact/signals'
import type { Api } from '../api.ts'

export type Conversation = Awaited<ReturnType<Api['getConversation']>>
export type Status = Conversation['execution_status']

/** A page of a list is cheap for the server, and a status that is this old still counts as live. */
const REFRESH_MS = 3000
/** Nobody looks, but a pending action is told all the same. */
const HIDDEN_MS = 15_000
const PAGE = 30

/** The newest conversations, by their last change. Further pages are read when somebody asks for them. */
export interface Conversations {
  readonly items: ReadonlySignal<readonly Conversation[] | undefined>
  readonly hasMore: ReadonlySignal<boolean>
  /** Why the last reading failed. */
  readonly problem: ReadonlySignal<unknown>
  refresh(): Promise<void>
  more(): Promise<void>
  /** What is known of one now, from whoever read it. */
  put(conversation: Conversation): void
  remove(id: string): void
}

export function watchConversations({ api, quiet }: { api: Api; quiet: Api }): Conversations {
  const items = signal<readonly Conversation[]>()
  const hasMore = signal(false)
  const problem = signal<unknown>()
  let pages = 1
  let latest = 0

  async function read(via: Api): Promise<void> {
    const turn = ++latest
    const found: Conversation[] = []
    let next: string | undefined
    for (let page = 0; page < pages; page++) {
      const answer = await via.searchConversations({
        query: { limit: PAGE, sort_order: 'UPDATED_AT_DESC', ...(next && { page_id: next }) },
      })
      found.push(...answer.items)
      next = answer.next_page_id ?? undefined
      if (!next) break
    }
    if (turn !== latest) return
    items.value = [...new Map(found.map(one => [one.id, one])).values()]
    hasMore.value = next !== undefined
    problem.value = undefined
  }

  const refresh = (via = api) =>
    read(via).catch(error => {
      problem.value = error
    })

  const isSeen = () => document.visibilityState === 'visible'
  setInterval(() => isSeen() && refresh(quiet), REFRESH_MS)
  setInterval(() => isSeen() || refresh(quiet), HIDDEN_MS)
  document.addEventListener('visibilitychange', () => isSeen() && refresh(quiet))

  return {
    items,
    hasMore,
    problem,
    refresh: () => refresh(),
    async more() {
      pages++
      await refresh()
    },
    put(conversation) {
      items.value = items.value?.map(one => (one.id === conversation.id ? conversation : one))
    },
    remove(id) {
      items.value = items.value?.filter(one => one.id !== id)
    },
  }
}
