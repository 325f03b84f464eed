import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../../app.ts'
import type { VirtualHandle } from '../../ui/virtual.tsx'
import { t } from '../../words.ts'
import type { Session } from '../session.ts'
import type { Entry } from './entries.ts'

const MARKED_MS = 2500

export interface TargetParts {
  session: Session
  /** The id of an event; undefined until something was read. */
  target: string | undefined
  entries: readonly Entry[]
  list: RefObject<VirtualHandle | null>
  openAsides: (ids: ReadonlySet<string>) => void
}

/** Goes to an event that a link names, and marks it for a moment. */
export function useTarget({ session, target, entries, list, openAsides }: TargetParts): void {
  const { toasts } = useApp()
  const [sought, setSought] = useState<string>()

  useEffect(() => {
    if (!target) return
    let isWanted = true
    const missing = () => toasts.complain(new Error(t('There is no such event in this conversation.')))
    session.reach(target).then(found => {
      if (isWanted) found ? setSought(target) : missing()
    }, toasts.complain)
    return () => {
      isWanted = false
    }
  }, [target])

  useEffect(() => {
    if (!sought) return
    const entry = entries.find(one => one.kind === 'event' && (one.id === sought || one.result?.id === sought))
    const folded = entries.filter(one => one.kind === 'aside' && !one.isOpen)
    if (entry) list.current?.show(entry.id).then(element => element && mark(element))
    // It may be among those: they are opened, and it is looked for again.
    else if (folded.length > 0)
      return openAsides(new Set(entries.filter(one => one.kind === 'aside').map(one => one.id)))
    setSought(undefined)
  }, [sought, entries])
}

function mark(element: HTMLElement): void {
  element.dataset.marked = ''
  element.tabIndex = -1
  element.focus({ preventScroll: true })
  setTimeout(() => delete element.dataset.marked, MARKED_MS)
}
