import { useState } from 'preact/hooks'
import { useApp } from '../../app.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Form } from '../../ui/kit.tsx'
import { t } from '../../words.ts'
import type { Session } from '../session.ts'

/** Raises what a conversation may cost, and lets the agent go on. */
export function BudgetDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const { api } = useApp()
  const [budget, setBudget] = useState('')
  const params = { conversation_id: session.id }
  return (
    <Dialog title={t('Raise the budget')} onClose={onClose}>
      <Form
        onSend={async () => {
          await api.updateConversation({ params, body: { max_budget_per_task: Number(budget) } })
          await api.runConversation({ params })
          onClose()
          await session.refresh()
        }}
      >
        <Field label={t('In all, in USD')} hint={t('What was spent so far counts too.')}>
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
        <div class="row end">
          <button type="button" onClick={onClose}>
            {t('Cancel')}
          </button>
          <button type="submit" class="primary">
            {t('Raise it and go on')}
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
