import { useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { Loading } from '../ui/kit.tsx'
import { useAction } from '../ui/use-action.ts'
import { Virtual, type VirtualHandle } from '../ui/virtual.tsx'
import { t } from '../words.ts'
import { AsideLine } from './events/aside-line.tsx'
import { Beginning, End } from './events/ends.tsx'
import { asideOf, Entries, type Entry, keyOf } from './events/entries.ts'
import { EntryView } from './events/entry.tsx'
import { type Frame, FrameContext, type TimelineActions } from './events/frame.tsx'
import { Herald } from './events/herald.tsx'
import { useTarget } from './events/use-target.ts'
import type { Session } from './session.ts'

export interface TimelineProps {
  session: Session
  /** An event to show and mark, from a link. */
  target?: string
  actions?: TimelineActions
}

const render = (entry: Entry) => (entry.kind === 'event' ? <EntryView entry={entry} /> : <AsideLine aside={entry} />)

/** Everything that happened in a conversation, as it happens. */
export function Timeline({ session, target, actions }: TimelineProps) {
  const list = useRef<VirtualHandle>(null)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const [leftAt, setLeftAt] = useState<string>()
  const events = session.events.value
  const results = session.results.value
  const head = session.conversation.value
  const aside = useMemo(() => asideOf(events, head), [events, head?.leaf_event_id, head?.updated_at])
  const maker = useMemo(() => new Entries(), [session])
  const entries = useMemo(() => maker.of(events, results, aside, opened), [events, results, aside, opened])
  const latest = useRef(actions)
  latest.current = actions
  const frame = useMemo<Frame>(
    () => ({
      session,
      actions: actions && {
        forkFrom: id => latest.current?.forkFrom(id),
        goBackTo: id => latest.current?.goBackTo(id),
      },
      folds: new Map(),
      toggleAside: id => setOpened(before => before.symmetricDifference(new Set([id]))),
    }),
    [session, actions === undefined],
  )
  const earlier = useAction(() => session.readEarlier())
  const isLoaded = session.connection.value !== 'connecting' || events.length > 0
  useTarget({ session, target: isLoaded ? target : undefined, entries, list, openAsides: setOpened })

  if (!isLoaded) return <Loading label={t('Reading the conversation…')} />
  const missed = leftAt === undefined ? 0 : entries.length - 1 - entries.findLastIndex(({ id }) => id === leftAt)
  return (
    <FrameContext.Provider value={frame}>
      <section class="timeline" aria-label={t('What happened')}>
        <Virtual
          items={entries}
          keyOf={keyOf}
          render={render}
          label={t('Timeline')}
          handle={list}
          before={<Beginning session={session} problem={earlier.problem} again={earlier.run} list={list} />}
          after={<End session={session} isEmpty={entries.length === 0} />}
          onNearTop={() => session.hasEarlier.value && earlier.problem === undefined && earlier.run()}
          onFollow={following => setLeftAt(following ? undefined : entries.at(-1)?.id)}
        />
        {leftAt !== undefined && (
          <button type="button" class="timeline-latest" onClick={() => list.current?.toEnd()}>
            <Icon name="down" />
            {t('Jump to latest')}
            {missed > 0 && <span class="card-chip">{t('{n} new', { n: missed })}</span>}
          </button>
        )}
        <Herald session={session} />
      </section>
    </FrameContext.Provider>
  )
}
