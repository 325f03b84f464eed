import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../ui/kit.tsx'
import { useAction } from '../ui/use-action.ts'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'

/** The id of the heading above. */
export const SECTION_TITLE = 'settings-title'

export interface SaveFormProps {
  label: string
  draft: Draft
  /** Rejecting shows why: at the field that is meant, or below. */
  onSave: () => Promise<unknown>
  /** The word on the button. */
  save?: string
  /** A form that is opened can be closed. */
  onCancel?: () => void
  /** Besides saving. */
  actions?: ComponentChildren
  children: ComponentChildren
}

/** Fields, and below them whether something is unsaved. */
export function SaveForm({ label, draft, onSave, save = t('Save'), onCancel, actions, children }: SaveFormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [failures, setFailures] = useState(0)
  const { run, busy } = useAction(async () => {
    try {
      await onSave()
    } catch (error) {
      draft.complain(error)
      setFailures(failures + 1)
    }
  })
  useEffect(() => {
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid]')
    wrong?.focus()
    wrong?.scrollIntoView({ block: 'center' })
  }, [failures])
  const isOpened = onCancel !== undefined
  useEffect(() => {
    const opened = form.current
    if (!isOpened || !opened) return
    opened.querySelector<HTMLElement>('input, select, textarea')?.focus()
    // Closed, it takes the focus with it.
    return () => {
      if (opened.contains(document.activeElement)) document.getElementById(SECTION_TITLE)?.focus()
    }
  }, [isOpened])
  return (
    <form
      ref={form}
      class="stack"
      aria-label={label}
      aria-busy={busy}
      onSubmit={event => {
        event.preventDefault()
        run()
      }}
    >
      {children}
      <Problem error={draft.problem} />
      <div class="settings-bar" data-dirty={draft.isDirty}>
        <button type="submit" class="primary" disabled={!draft.isDirty && !onCancel}>
          {save}
        </button>
        {onCancel ? (
          <button type="button" onClick={onCancel}>
            {t('Cancel')}
          </button>
        ) : (
          draft.isDirty && (
            <button type="button" onClick={draft.clear}>
              {t('Discard')}
            </button>
          )
        )}
        {actions}
        <span class="settings-unsaved" role="status">
          {draft.isDirty && t('Unsaved changes')}
        </span>
      </div>
    </form>
  )
}
