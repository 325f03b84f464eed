import { t } from '../words.ts'
import type { Conversation, Status } from './conversations.ts'

const WORDS: Record<Status, string> = {
  idle: 'Idle',
  running: 'Running',
  paused: 'Paused',
  waiting_for_confirmation: 'Waiting for you',
  finished: 'Finished',
  error: 'Error',
  stuck: 'Stuck',
  deleting: 'Deleting',
}

export const statusWord = (status: Status): string => t(WORDS[status])

export const titleOf = ({ title }: Pick<Conversation, 'title'>): string => title || t('Untitled conversation')

export const StatusBadge = ({ status }: { status: Status }) => (
  <span class="status" data-status={status}>
    {statusWord(status)}
  </span>
)
