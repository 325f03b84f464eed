import type { ComponentChildren } from 'preact'
import type { Event } from '../../../src/api/events.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { plural, t } from '../../words.ts'
import { Fold } from './fold.tsx'
import { Output } from './output.tsx'
import { stateWords } from './shown.ts'

interface Note {
  icon: IconName
  text: string
  more?: () => ComponentChildren
}

/** What is worth a quiet line, with more to be opened where there is more. */
export function Notice({ event }: { event: Event }) {
  const { icon, text, more } = noteOf(event)
  const title = (
    <>
      <Icon name={icon} /> {text}
    </>
  )
  if (!more) return <p class="notice">{title}</p>
  return (
    <Fold id={event.id} class="notice" title={title}>
      {more}
    </Fold>
  )
}

function noteOf(event: Event): Note {
  switch (event.kind) {
    case 'SystemPromptEvent':
      return {
        icon: 'file',
        text: plural(event.tools.length, 'Instructions and {n} tool', 'Instructions and {n} tools'),
        more: () => (
          <>
            <Output id={event.id} text={event.system_prompt.text} label={t('Copy the instructions')} />
            {event.dynamic_context && <Output id={`${event.id}-context`} text={event.dynamic_context.text} />}
            <p class="quiet">{event.tools.map(({ title }) => title).join(', ')}</p>
          </>
        ),
      }
    case 'PauseEvent':
      return { icon: 'pause', text: t('Paused') }
    case 'InterruptEvent':
      return { icon: 'stop', text: t('Interrupted') }
    case 'CondensationRequest':
      return { icon: 'file', text: t('A summary of the history was asked for') }
    case 'Condensation': {
      const n = event.forgotten_event_ids.length
      const text = plural(
        n,
        'For the model, {n} earlier event was summarised',
        'For the model, {n} earlier events were summarised',
      )
      return { icon: 'file', text, ...(event.summary && { more: () => <Markdown text={event.summary!} /> }) }
    }
    case 'CondensationSummaryEvent':
      return { icon: 'file', text: t('Summary of the history'), more: () => <Markdown text={event.summary} /> }
    case 'HookExecutionEvent':
      return hookNote(event)
    case 'ConversationStateUpdateEvent':
      return { icon: 'gear', text: t(stateWords(event.key, event.value) ?? event.key) }
    default:
      return {
        icon: 'more',
        text: event.kind,
        more: () => <Output id={event.id} text={JSON.stringify(event, null, 2)} />,
      }
  }
}

function hookNote(event: Extract<Event, { kind: 'HookExecutionEvent' }>): Note {
  const name = event.hook_event_type
  const said = [event.reason, event.error, event.additional_context, event.stdout, event.stderr].filter(Boolean)
  return {
    icon: event.blocked || !event.success ? 'warning' : 'gear',
    text: event.blocked
      ? t('A hook ({name}) refused it', { name })
      : event.success
        ? t('A hook ({name}) ran', { name })
        : t('A hook ({name}) failed with exit code {code}', { name, code: event.exit_code }),
    more: () => <Output id={event.id} text={[`$ ${event.hook_command}`, ...said].join('\n')} />,
  }
}
