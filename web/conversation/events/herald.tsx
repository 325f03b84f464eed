import { useEffect, useRef, useState } from 'preact/hooks'
import type { Event } from '../../../src/api/events.ts'
import { t } from '../../words.ts'
import type { Session } from '../session.ts'
import { textOf } from './content.tsx'

const MOST_CHARACTERS = 400

/** What somebody who does not see the page wants to hear of. */
function newsOf(event: Event): string | undefined {
  if (event.kind === 'MessageEvent' && event.source === 'agent') return textOf(event.llm_message.content)
  if (event.kind === 'ActionEvent' && event.action?.kind === 'FinishAction') return String(event.action.message)
  if (event.kind === 'ConversationErrorEvent') return t('The agent stopped: {detail}', { detail: event.detail })
  return undefined
}

/** Reads new messages out, whole ones only: the timeline itself is silent, for it is drawn anew whenever it is scrolled. */
export function Herald({ session }: { session: Session }) {
  const events = session.events.value
  const heard = useRef(events.at(-1)?.id)
  const [news, setNews] = useState('')
  useEffect(() => {
    const since = events.findLastIndex(({ id }) => id === heard.current)
    heard.current = events.at(-1)?.id
    const fresh = events.slice(since + 1).flatMap(event => newsOf(event) ?? [])
    if (fresh.length > 0) setNews(fresh.join('\n').slice(0, MOST_CHARACTERS))
  }, [events])
  return (
    <p class="timeline-herald" role="status">
      {news}
    </p>
  )
}
