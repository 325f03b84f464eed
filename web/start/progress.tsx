import type { AppConversationStartTask, StartStatus } from '../../src/api/app-conversations.ts'
import { Icon } from '../ui/icon.tsx'
import { t } from '../words.ts'

const WORDS: Record<StartStatus, string> = {
  WORKING: 'Getting ready',
  WAITING_FOR_SANDBOX: 'Starting the sandbox',
  PREPARING_REPOSITORY: 'Fetching the repository',
  RUNNING_SETUP_SCRIPT: 'Running its setup script',
  SETTING_UP_GIT_HOOKS: 'Setting up its git hooks',
  SETTING_UP_SKILLS: 'Reading its skills',
  STARTING_CONVERSATION: 'Starting the conversation',
  READY: 'Ready',
  ERROR: 'Failed',
}

/** A start that takes a while, step by step. */
export function Progress({ task, onCancel }: { task: AppConversationStartTask; onCancel: () => void }) {
  const isOver = task.status === 'READY' || task.status === 'ERROR'
  return (
    <section class="start-progress group" aria-label={t('Progress')} aria-live="polite">
      <ol>
        {task.steps.map(({ status, outcome, detail }) => (
          <li key={status} data-outcome={outcome}>
            <Icon name={outcome === 'failed' ? 'close' : 'check'} />
            <span>
              {t(WORDS[status])}
              {outcome !== 'done' && <span class="quiet"> ({outcome})</span>}
              {detail && <small>{detail}</small>}
            </span>
          </li>
        ))}
        {!isOver && (
          <li>
            <span class="status" data-status="running">
              {t(WORDS[task.status])}…
            </span>
          </li>
        )}
      </ol>
      {!isOver && (
        <button type="button" onClick={onCancel}>
          {t('Cancel')}
        </button>
      )}
    </section>
  )
}
