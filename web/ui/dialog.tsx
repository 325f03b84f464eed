import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
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

export interface DialogFormProps {
  title: string
  children: ComponentChildren
  /** The word on the button that does it. */
  yes: string
  action: () => Promise<unknown>
  onClose: () => void
  danger?: boolean
}

/** Something to fill in; it closes when it was done, and says in words why it was not. */
export const DialogForm = ({ title, children, yes, action, onClose, danger = false }: DialogFormProps) => (
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

/** Asks before something is done that cannot be undone. */
export const Confirm = (props: Omit<DialogFormProps, 'danger'>) => <DialogForm {...props} danger />

export interface DeleteButtonProps {
  /** Of what is deleted. */
  name: string
  /** What goes with it. */
  children: ComponentChildren
  action: () => Promise<unknown>
}

export function DeleteButton({ name, children, action }: DeleteButtonProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" class="danger" aria-label={t('Delete {name}', { name })} onClick={() => setAsking(true)}>
        {t('Delete')}
      </button>
      {isAsking && (
        <Confirm
          title={t('Delete {name}?', { name })}
          yes={t('Delete')}
          action={action}
          onClose={() => setAsking(false)}
        >
          <p>{children}</p>
        </Confirm>
      )}
    </>
  )
}
