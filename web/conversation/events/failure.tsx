import { useState } from 'preact/hooks'
import type { Event } from '../../../src/api/events.ts'
import { useApp } from '../../app.ts'
import { hrefTo } from '../../route.ts'
import { Icon } from '../../ui/icon.tsx'
import { ActionButton } from '../../ui/kit.tsx'
import { t } from '../../words.ts'
import { BudgetDialog } from '../budget-dialog.tsx'
import { useFrame } from './frame.tsx'

type Failed = Extract<Event, { kind: 'ConversationErrorEvent' | 'ServerErrorEvent' }>

const TITLES: Record<string, string> = {
  MaxBudgetReached: 'The budget is used up',
  MaxIterationsReached: 'The agent took as many steps as it may',
  UnknownPrice: 'The price of the model is not known',
  EventDamaged: 'Something is damaged on disk',
}

const KINDS: Record<string, string> = {
  auth: 'The model refused the key',
  quota: 'The account of the model has nothing left',
  rate_limit: 'The model asks for patience',
  config: 'Something is not set up right',
  transient: 'The model did not answer',
}

/** Why the agent stopped, and what to do next. */
export function Failure({ event }: { event: Failed }) {
  const classification = 'classification' in event ? event.classification : undefined
  const title = TITLES[event.code] ?? KINDS[classification?.kind ?? ''] ?? 'Something went wrong'
  return (
    <div class="failure">
      <p class="failure-title">
        <Icon name="warning" />
        <strong>{t(title)}</strong>
        <code>{event.code}</code>
      </p>
      <p>{event.detail}</p>
      <NextStep event={event} />
    </div>
  )
}

/** Only where the conversation still stands. */
function NextStep({ event }: { event: Failed }) {
  const { api } = useApp()
  const { session } = useFrame()
  const [raising, setRaising] = useState(false)
  const latest = session.events.value.findLast(({ kind }) => kind === 'ConversationErrorEvent')
  if (event.kind !== 'ConversationErrorEvent' || latest?.id !== event.id) return null
  if (session.conversation.value?.execution_status !== 'error') return null
  const params = { conversation_id: session.id }
  const run = () => api.runConversation({ params }).then(() => session.refresh())
  const isBudget = event.code === 'MaxBudgetReached'
  return (
    <div class="row">
      {isBudget && (
        <button type="button" class="primary" onClick={() => setRaising(true)}>
          {t('Raise the budget')}
        </button>
      )}
      {event.classification.user_action === 'settings' && !isBudget && (
        <a class="button primary" href={hrefTo(['settings', 'models'])}>
          {t('Open the settings of models')}
        </a>
      )}
      {!isBudget && (
        <ActionButton action={run} icon="refresh">
          {event.code === 'MaxIterationsReached' ? t('Let it go on') : t('Try again')}
        </ActionButton>
      )}
      {raising && (
        <BudgetDialog
          session={session}
          title={t('Raise the budget')}
          yes={t('Raise it and go on')}
          onSet={() => api.runConversation({ params })}
          onClose={() => setRaising(false)}
        />
      )}
    </div>
  )
}
