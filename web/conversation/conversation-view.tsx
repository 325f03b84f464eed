import { useEffect, useState } from 'preact/hooks'
import { statusOf } from '../api.ts'
import { useApp } from '../app.ts'
import { titleOf } from '../conversations/status.tsx'
import { lazy } from '../lazy.tsx'
import { hrefTo } from '../route.ts'
import { Empty, Loading, Problem } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { Asking } from './asking.tsx'
import { Composer } from './composer.tsx'
import { Header } from './header.tsx'
import { openSession, type Session } from './session.ts'
import { Splitter } from './splitter.tsx'
import { Timeline } from './timeline.tsx'

const WorkspaceView = lazy(() => import('../workspace/workspace-view.tsx').then(module => module.WorkspaceView))

/** `#/c/ID`, with `?event=` for one event and `/files`, `/changes` … for the workspace's tabs. */
export function ConversationView({ id }: { id: string }) {
  const app = useApp()
  const [session, setSession] = useState<Session>()
  useEffect(() => {
    const opened = openSession(app, id)
    setSession(opened)
    return () => opened.close()
  }, [id])
  return session ? <Opened key={session.id} session={session} /> : null
}

function Opened({ session }: { session: Session }) {
  const { api, go, replace, route, conversations, preferences, title, toasts } = useApp()
  const { path, query } = route.value
  const conversation = session.conversation.value
  const tab = path[2]
  const isNarrow = useNarrow()
  // On a phone the workspace takes the whole screen, so it opens only when asked for.
  const isOpen = tab !== undefined || (!isNarrow && preferences.workspace.value)

  useEffect(() => {
    if (!conversation) return
    title.value = titleOf(conversation)
    conversations.put(conversation)
  }, [conversation?.title, conversation?.execution_status])

  if (!conversation) {
    if (session.problem.value === undefined) return <Loading />
    // An address that was cut names none either.
    return [404, 422].includes(statusOf(session.problem.value) ?? 0) ? (
      <Empty icon="search" title={t('There is no such conversation.')}>
        <a href={hrefTo([])}>{t('To the start')}</a>
      </Empty>
    ) : (
      <Problem error={session.problem.value} again={() => session.refresh()} />
    )
  }

  const fork = async (eventId?: string) => {
    const copy = await api.forkConversation({
      params: { conversation_id: session.id },
      body: {
        title: t('{title} (fork)', { title: titleOf(conversation) }),
        ...(eventId && { from_event_id: eventId }),
      },
    })
    await conversations.refresh()
    go(['c', copy.id])
  }
  const goBack = async (eventId: string) => {
    await api.navigateConversation({ params: { conversation_id: session.id }, body: { event_id: eventId } })
    await session.refresh()
    toasts.say(t('It goes on from here. What came after is kept as another branch.'))
  }
  const toggle = () => {
    if (!isNarrow) preferences.workspace.value = !isOpen
    replace(isOpen ? ['c', session.id] : ['c', session.id, 'files'])
  }

  const target = query.get('event')
  return (
    <section class="conversation" data-workspace={isOpen} aria-label={t('Conversation')}>
      <Header
        session={session}
        workspaceOpen={isOpen}
        onWorkspace={toggle}
        onFork={() => fork().catch(toasts.complain)}
      />
      <div class="conversation-talk">
        <Timeline
          session={session}
          {...(target !== null && { target })}
          actions={{
            forkFrom: eventId => fork(eventId).catch(toasts.complain),
            goBackTo: eventId => goBack(eventId).catch(toasts.complain),
          }}
        />
        <Asking session={session} />
        <Composer session={session} />
      </div>
      {isOpen && (
        <>
          <Splitter />
          <div class="conversation-workspace">
            <WorkspaceView session={session} tab={tab ?? 'files'} onTab={next => replace(['c', session.id, next])} />
          </div>
        </>
      )}
    </section>
  )
}

const NARROW = window.matchMedia('(max-width: 64rem)')

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const changed = () => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', changed)
    return () => NARROW.removeEventListener('change', changed)
  }, [])
  return isNarrow
}
