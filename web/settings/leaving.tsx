import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { Confirm } from '../ui/dialog.tsx'
import { t } from '../words.ts'

/** Forms with changes that nobody has saved yet. */
type Unsaved = Set<symbol>

const UnsavedContext = createContext<Unsaved>(new Set())

/** Asks before the person goes elsewhere while a form inside has unsaved changes. */
export function LeaveGuard({ children }: { children: ComponentChildren }) {
  const unsaved = useMemo<Unsaved>(() => new Set(), [])
  const [to, setTo] = useState<string>()
  useEffect(() => {
    const unload = (event: BeforeUnloadEvent) => {
      if (unsaved.size > 0) event.preventDefault()
    }
    const navigate = (event: NavigateEvent) => {
      const { hash } = new URL(event.destination.url)
      const isElsewhere = hash === '' || hash.startsWith('#/')
      if (unsaved.size === 0 || !event.cancelable || !event.destination.sameDocument || !isElsewhere) return
      event.preventDefault()
      setTo(event.destination.url)
    }
    window.addEventListener('beforeunload', unload)
    // Browsers without it only warn before the whole page is left.
    window.navigation?.addEventListener('navigate', navigate)
    return () => {
      window.removeEventListener('beforeunload', unload)
      window.navigation?.removeEventListener('navigate', navigate)
    }
  }, [unsaved])
  return (
    <UnsavedContext.Provider value={unsaved}>
      {children}
      {to !== undefined && (
        <Confirm
          title={t('Leave without saving?')}
          yes={t('Leave')}
          action={async () => {
            unsaved.clear()
            location.href = to
          }}
          onClose={() => setTo(undefined)}
        >
          <p>{t('What you changed here is not saved yet, and would be lost.')}</p>
        </Confirm>
      )}
    </UnsavedContext.Provider>
  )
}

/** Holds the person while `isDirty`. The function lets go at once, before the next drawing: for a form that leaves by itself. */
export function useUnsaved(isDirty: boolean): () => void {
  const unsaved = useContext(UnsavedContext)
  const id = useMemo(() => Symbol(), [])
  useEffect(() => {
    if (isDirty) unsaved.add(id)
    return () => {
      unsaved.delete(id)
    }
  }, [isDirty, unsaved, id])
  return () => {
    unsaved.delete(id)
  }
}
