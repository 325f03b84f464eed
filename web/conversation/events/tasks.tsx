import { hrefTo } from '../../route.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { t } from '../../words.ts'
import { textOf } from './content.tsx'
import { FileText } from './file-parts.tsx'
import { Fold } from './fold.tsx'
import type { ActionOf, Looks, ObservationOf } from './look.tsx'

const STATUS: Record<string, string> = { completed: 'Done', error: 'Failed', stuck: 'Stuck' }

/** Work that the agent handed to others. */
export const taskLooks: Looks = {
  TaskAction: (event, result) => {
    const { description, prompt, subagent_type: kind } = event.action as ActionOf<'TaskAction'>
    const seen = result?.observation as ObservationOf<'TaskObservation'> | undefined
    const report = textOf(seen?.content)
    return {
      icon: 'branch',
      words: [{ text: t('Give a task to {kind}', { kind }) }, ...(description ? [{ text: `“${description}”` }] : [])],
      chips: seen && (
        <>
          <span class={`card-chip ${seen.is_error ? 'card-chip-bad' : ''}`}>
            {t(STATUS[seen.status] ?? seen.status)}
          </span>
          {seen.task_id && <a href={hrefTo(['c', seen.task_id])}>{t('Open')}</a>}
        </>
      ),
      isOpen: true,
      tellsResult: true,
      body: () => (
        <div class="task">
          <Fold id={`${event.id}-prompt`} class="quiet" title={t('The task')} isOpenAtFirst={!seen}>
            {() => <Markdown text={prompt} />}
          </Fold>
          {report && !seen?.is_error && <Markdown text={report} />}
        </div>
      ),
    }
  },
  WorkflowAction: event => {
    const { name, script } = event.action as ActionOf<'WorkflowAction'>
    return {
      icon: 'branch',
      words: [{ text: t('Run the workflow') }, { text: name, isCode: true }],
      isOpen: false,
      tellsResult: false,
      body: () => <FileText id={event.id} name="workflow.js" text={script} />,
    }
  },
  InvokeSkillAction: event => ({
    icon: 'tag',
    words: [
      { text: t('Read the skill') },
      { text: (event.action as ActionOf<'InvokeSkillAction'>).name, isCode: true },
    ],
    isOpen: false,
    tellsResult: false,
  }),
  SwitchLLMAction: event => {
    const { profile_name, reason } = event.action as ActionOf<'SwitchLLMAction'>
    return {
      icon: 'refresh',
      words: [{ text: t('Change to the model') }, { text: profile_name, isCode: true }],
      isOpen: false,
      tellsResult: false,
      body: () => <p>{reason}</p>,
    }
  },
}
