import type { RefObject } from 'preact'
import { useApp } from '../../app.ts'
import { ActionButton, Empty, Problem } from '../../ui/kit.tsx'
import type { VirtualHandle } from '../../ui/virtual.tsx'
import { t } from '../../words.ts'
import type { Session } from '../session.ts'
import { Writing } from './message.tsx'

export interface BeginningProps {
  session: Session
  /** Why nothing earlier could be read. */
  problem: unknown
  again: () => unknown
  list: RefObject<VirtualHandle | null>
}

/** Above the first event that was read. */
export function Beginning({ session, problem, again, list }: BeginningProps) {
  const { toasts } = useApp()
  if (problem !== undefined) return <Problem error={problem} again={again} />
  if (!session.hasEarlier.value) return null
  const toFirst = async () => {
    while (session.hasEarlier.value) await session.readEarlier()
    list.current?.toTop()
  }
  return (
    <div class="timeline-beginning">
      <span class="quiet">{t('Earlier events are being read…')}</span>
      <ActionButton action={toFirst} onProblem={toasts.complain}>
        {t('Go to the first event')}
      </ActionButton>
    </div>
  )
}

/** Below the last event. */
export function End({ session, isEmpty }: { session: Session; isEmpty: boolean }) {
  const draft = session.draft.value
  if (draft) return <Writing draft={draft} />
  const isRunning = session.conversation.value?.execution_status === 'running'
  if (isRunning && !hasOpenAction(session))
    return (
      <p class="entry thinking" role="presentation">
        {t('Working…')}
      </p>
    )
  return isEmpty ? <Empty icon="send" title={t('Nothing has happened here yet.')} /> : null
}

/** Then its card says that something goes on. */
function hasOpenAction({ events, results }: Session): boolean {
  const last = events.value.findLast(({ kind }) => kind === 'ActionEvent')
  return last !== undefined && !results.value.has(last.id)
}
