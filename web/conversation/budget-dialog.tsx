import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { DialogForm } from '../ui/dialog.tsx'
import { Field } from '../ui/kit.tsx'
import { t } from '../words.ts'
import type { Session } from './session.ts'

export interface BudgetDialogProps {
  session: Session
  title: string
  /** The word on the button that sets it. */
  yes: string
  current?: number | undefined
  /** After it was set. */
  onSet?: () => Promise<unknown>
  onClose: () => void
  children?: ComponentChildren
}

/** Sets what a conversation may cost. */
export function BudgetDialog({ session, title, yes, current, onSet, onClose, children }: BudgetDialogProps) {
  const { api } = useApp()
  const [budget, setBudget] = useState(current?.toString() ?? '')
  const set = async () => {
    const params = { conversation_id: session.id }
    await api.updateConversation({ params, body: { max_budget_per_task: Number(budget) } })
    await onSet?.()
    await session.refresh()
  }
  return (
    <DialogForm title={title} yes={yes} action={set} onClose={onClose}>
      {children}
      <Field
        label={t('Budget in dollars')}
        hint={t(
          'For all of it, sub-agents and what was spent so far included. The agent stops when it is spent; raise it, and it can go on.',
        )}
      >
        {ids => (
          <input
            {...ids}
            type="number"
            min="0"
            step="any"
            required
            value={budget}
            onInput={event => setBudget(event.currentTarget.value)}
          />
        )}
      </Field>
    </DialogForm>
  )
}
