import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from '../words.ts'
import { Form } from './kit.tsx'

export interface DialogProps {
  title: string
  onClose: () => void
  class?: string
  children: ComponentChildren
}

/** Modal for as long as it is rendered. Escape closes it. */
export function Dialog({ title, onClose, class: name = '', children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  return (
    <dialog ref={ref} class={name} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

export interface ConfirmProps {
  title: string
  children: ComponentChildren
  /** The word on the button that does it. */
  yes: string
  action: () => Promise<unknown>
  onClose: () => void
  danger?: boolean
}

/** Asks before something is done that cannot be undone. */
export const Confirm = ({ title, children, yes, action, onClose, danger = true }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <Form
      onSend={async () => {
        await action()
        onClose()
      }}
    >
      {children}
      <div class="row end">
        <button type="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="submit" class={danger ? 'danger' : 'primary'}>
          {yes}
        </button>
      </div>
    </Form>
  </Dialog>
)
