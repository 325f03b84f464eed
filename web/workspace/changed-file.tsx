import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GitChange, GitChangeStatus } from '../../src/api/git.ts'
import { Changed } from '../ui/diff.tsx'
import { compare } from '../ui/diff-rows.ts'
import { Icon } from '../ui/icon.tsx'
import { Loading, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import type { Place } from './place.ts'

const MARKS: Record<GitChangeStatus, string> = { ADDED: 'A', UPDATED: 'M', MOVED: 'R', DELETED: 'D' }
const markName = (status: GitChangeStatus): string =>
  ({ ADDED: t('Added'), UPDATED: t('Changed'), MOVED: t('Moved'), DELETED: t('Deleted') })[status]

export interface ChangedFileProps {
  place: Place
  change: GitChange
  gitRef: string | null
  /** Whenever it changes, the file may have. */
  version: number
  initiallyOpen: boolean
}

/** A line that opens to show what was changed; both sides are read when it is first opened. */
export function ChangedFile({ place, change: { status, path }, gitRef, version, initiallyOpen }: ChangedFileProps) {
  const [open, setOpen] = useState(initiallyOpen)
  const [wanted, setWanted] = useState(initiallyOpen)
  const { value, problem, loading, again } = useLoad(
    async signal => wanted && place.api.gitDiff({ query: { path: `${place.root}/${path}`, ref: gitRef }, signal }),
    [path, gitRef, wanted],
  )
  useEffect(() => {
    if (wanted && !loading) again()
  }, [version])
  const isText = value && value.original !== null && value.modified !== null
  const changes = useMemo(() => (isText ? compare(value.original!, value.modified!) : undefined), [value])
  return (
    <section class="changed" aria-label={path}>
      <button
        type="button"
        class="changed-head"
        aria-expanded={open}
        onClick={() => {
          setOpen(!open)
          setWanted(true)
        }}
      >
        <Icon name="chevron" />
        <span
          class="changed-mark"
          data-status={status}
          role="img"
          aria-label={markName(status)}
          title={markName(status)}
        >
          {MARKS[status]}
        </span>
        <span class="changed-path">{path}</span>
        {changes && (
          <span class="changed-counts">
            <span class="changed-added">+{changes.added}</span> <span class="changed-removed">−{changes.removed}</span>
          </span>
        )}
      </button>
      {open && (
        <div class="changed-body">
          <Problem error={problem} again={again} />
          {!value && problem === undefined && <Loading />}
          {value && !isText && <p class="changed-note">{t('This is no text, or too large to be compared.')}</p>}
          {isText && <Changed changes={changes} name={path} />}
        </div>
      )}
    </section>
  )
}
