import type { Event } from '../../../src/api/events.ts'
import { useApp } from '../../app.ts'
import { hrefTo } from '../../route.ts'
import { copyText, When } from '../../ui/kit.tsx'
import { Menu } from '../../ui/menu.tsx'
import { t } from '../../words.ts'
import { AcpCall } from './acp.tsx'
import { Action } from './action.tsx'
import { textOf } from './content.tsx'
import type { Happening } from './entries.ts'
import { Failure } from './failure.tsx'
import { useFrame } from './frame.tsx'
import { LoneResult } from './lone-result.tsx'
import { Message } from './message.tsx'
import { Notice } from './notice.tsx'

/** One event, with when it was and what can be done from there. */
export function EntryView({ entry }: { entry: Happening }) {
  const { event } = entry
  return (
    <article class="entry" data-kind={event.kind} data-source={event.source} data-aside={entry.isAside || undefined}>
      <div class="entry-content">
        <Body entry={entry} />
      </div>
      <Tools entry={entry} />
    </article>
  )
}

function Body({ entry: { event, result, isAside } }: { entry: Happening }) {
  switch (event.kind) {
    case 'MessageEvent':
      return <Message event={event} />
    case 'ActionEvent':
      return <Action event={event} result={result} isAside={isAside} />
    case 'ObservationEvent':
    case 'UserRejectObservation':
    case 'AgentErrorEvent':
      return <LoneResult result={event} />
    case 'ConversationErrorEvent':
    case 'ServerErrorEvent':
      return <Failure event={event} />
    case 'ACPToolCallEvent':
      return <AcpCall event={event} />
    default:
      return <Notice event={event} />
  }
}

/** The words in it that somebody may want elsewhere. */
function wordsIn(event: Event): string {
  if (event.kind === 'MessageEvent') return textOf(event.llm_message.content)
  if (event.kind === 'ActionEvent' && event.action?.kind === 'FinishAction') return String(event.action.message)
  return event.kind === 'ActionEvent' ? textOf(event.thought) : ''
}

function Tools({ entry: { event, result } }: { entry: Happening }) {
  const { toasts } = useApp()
  const { session, actions } = useFrame()
  const copy = (text: string, said: string) => copyText(text).then(() => toasts.say(said), toasts.complain)
  const link = `${location.href.split('#')[0]}${hrefTo(['c', session.id], { event: event.id })}`
  const words = wordsIn(event)
  // A call goes with what came of it: without that it would count as cut off.
  const here = result?.id ?? event.id
  return (
    <div class="entry-tools">
      <When at={event.timestamp} />
      <Menu
        label={t('More about this event')}
        items={[
          words !== '' && { label: t('Copy text'), icon: 'copy', onSelect: () => copy(words, t('Text copied.')) },
          { label: t('Copy link'), icon: 'link', onSelect: () => copy(link, t('Link copied.')) },
          actions && { label: t('Fork from here'), icon: 'branch', onSelect: () => actions.forkFrom(here) },
          actions && { label: t('Go back to here'), icon: 'undo', onSelect: () => actions.goBackTo(here) },
        ]}
      />
    </div>
  )
}
