import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { withHyphens } from '../ids.ts'
import type { Conversation } from './conversations.ts'

/** Typing is not asking: the server hears what stood still for a moment. */
const STILL_MS = 200
const MOST = 50

/** Conversations whose title holds these words, all there are, not just those in the list; undefined while nothing is sought. */
export function useFound(words: string): readonly Conversation[] | undefined {
  const { quiet } = useApp()
  const [found, setFound] = useState<readonly Conversation[]>()
  useEffect(() => {
    if (!words) {
      setFound(undefined)
      return
    }
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      const { items } = await quiet.searchAppConversations({
        query: { title__contains: words, limit: MOST },
        signal: controller.signal,
      })
      const ids = items.map(one => withHyphens(one.id))
      const all = ids.length > 0 ? await quiet.batchConversations({ query: { ids } }) : []
      setFound(all.filter((one): one is Conversation => one !== null))
    }, STILL_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [words])
  return found
}
