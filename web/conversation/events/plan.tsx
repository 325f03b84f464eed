import type { TaskItem } from '../../../src/api/actions.ts'
import { Icon } from '../../ui/icon.tsx'
import { t } from '../../words.ts'
import type { ActionOf, Looks, ObservationOf } from './look.tsx'

const STATUS: Record<TaskItem['status'], string> = { todo: 'To do', in_progress: 'In progress', done: 'Done' }

const Plan = ({ tasks }: { tasks: readonly TaskItem[] }) => (
  <ol class="plan">
    {tasks.map(({ title, notes, status }, at) => (
      <li key={at} data-status={status}>
        <span class="plan-mark" role="img" aria-label={t(STATUS[status])}>
          {status === 'done' && <Icon name="check" />}
        </span>
        <span class="plan-title">
          {title}
          {notes && <small>{notes}</small>}
        </span>
      </li>
    ))}
  </ol>
)

export const planLooks: Looks = {
  TaskTrackerAction: (event, result) => {
    const action = event.action as ActionOf<'TaskTrackerAction'>
    const seen = result?.observation as ObservationOf<'TaskTrackerObservation'> | undefined
    const tasks = seen?.task_list ?? action.task_list
    const done = tasks.filter(({ status }) => status === 'done').length
    const isPlan = action.command === 'plan'
    return {
      icon: 'check',
      words: [
        { text: isPlan ? t('Plan') : t('Look at the plan') },
        ...(tasks.length > 0 ? [{ text: t('{done} of {all} done', { done, all: tasks.length }) }] : []),
      ],
      isOpen: isPlan,
      tellsResult: true,
      body: () => (tasks.length > 0 ? <Plan tasks={tasks} /> : <p class="quiet">{t('The plan is empty.')}</p>),
    }
  },
}
