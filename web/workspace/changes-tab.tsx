import { useEffect, useState } from 'preact/hooks'
import { ActionButton, Empty, Loading, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { ChangedFile } from './changed-file.tsx'
import { type Changes, readChanges, refOf, type Since, summary } from './changes.ts'
import type { Place } from './place.ts'

/** So few are opened by themselves. */
const OPENED = 3

export interface ChangesTabProps {
  place: Place
  /** Whenever it changes, the agent may have changed files. */
  runs: number
}

export function ChangesTab({ place, runs }: ChangesTabProps) {
  const [chosen, setChosen] = useState<Since>()
  const [version, setVersion] = useState(0)
  const { value, problem, loading, again } = useLoad(signal => readChanges(place, chosen, signal), [place, chosen])
  const refresh = async () => {
    await again()
    setVersion(n => n + 1)
  }
  useEffect(() => {
    if (!loading) refresh()
  }, [runs])
  const changes = value?.changes ?? []
  return (
    <div class="changes">
      <div class="workspace-bar">
        <span class="changes-count" role="status">
          {summary(changes)}
        </span>
        {(chosen !== undefined || value?.isRepository) && (
          <select
            aria-label={t('Compared with')}
            value={chosen ?? value?.since}
            onChange={event => setChosen(event.currentTarget.value as Since)}
          >
            <option value="start">{t('All work')}</option>
            <option value="commit">{t('Since the last commit')}</option>
          </select>
        )}
        <ActionButton class="icon" icon="refresh" label={t('Refresh')} action={refresh} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <section class="changes-list" aria-label={t('Changed files')} tabIndex={0}>
        <Problem error={problem} again={again} />
        {!value && problem === undefined && <Loading />}
        {value &&
          changes.map(change => (
            <ChangedFile
              key={`${value.since} ${change.path}`}
              place={place}
              change={change}
              gitRef={refOf(value.since)}
              version={version}
              initiallyOpen={changes.length <= OPENED}
            />
          ))}
        {value && changes.length === 0 && <Nothing {...value} />}
      </section>
    </div>
  )
}

function Nothing({ isRepository, since }: Changes) {
  if (!isRepository)
    return (
      <Empty icon="branch" title={t('The working directory is not a git repository.')}>
        <p>{t('Without one nobody knows what it was like before. Its files are under Files.')}</p>
      </Empty>
    )
  const title = since === 'commit' ? t('Nothing has changed since the last commit.') : t('Nothing has changed.')
  return (
    <Empty icon="check" title={title}>
      <p>{t('What the agent changes in this repository appears here.')}</p>
    </Empty>
  )
}
