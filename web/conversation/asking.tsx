import { useEffect, useRef, useState } from 'preact/hooks'
import type { ActionEvent } from '../../src/api/events.ts'
import { useApp } from '../app.ts'
import { Code } from '../ui/code.tsx'
import { Icon } from '../ui/icon.tsx'
import { Problem } from '../ui/kit.tsx'
import { useAction } from '../ui/use-action.ts'
import { plural, t } from '../words.ts'
import { describe } from './describe.ts'
import type { Session } from './session.ts'

const RISKS: Record<ActionEvent['security_risk'], string> = {
  HIGH: 'High risk',
  MEDIUM: 'Medium risk',
  LOW: 'Low risk',
  UNKNOWN: 'Risk unknown',
}

/** What waits for a yes or a no: exactly what will run, where, and how risky it was found to be. */
export function Asking({ session }: { session: Session }) {
  const { api } = useApp()
  const pending = session.pending.value
  const reason = useRef<HTMLInputElement>(null)
  const [rejecting, setRejecting] = useState(false)
  // The server runs a batch once all of it is answered; until then only we know what was said to some.
  const [answers, setAnswers] = useState<ReadonlyMap<string, boolean>>(new Map())
  const answer = useAction(async (accept: boolean, ids: readonly string[]) => {
    const why = reason.current?.value.trim()
    await api.respondToConfirmation({
      params: { conversation_id: session.id },
      body: { accept, action_ids: [...ids], ...(!accept && why && { reason: why }) },
    })
    setRejecting(false)
    setAnswers(before => new Map([...before, ...ids.map(id => [id, accept] as const)]))
    await session.refresh()
  })
  const open = pending.filter(event => !answers.has(event.id))
  const all = open.map(event => event.id)
  const isWaiting = open.length > 0

  useEffect(() => {
    if (!isWaiting) return
    const onKey = (event: KeyboardEvent) => {
      if (!event.altKey || event.ctrlKey || event.metaKey) return
      if (event.code === 'KeyY') answer.run(true, all)
      else if (event.code === 'KeyN') setRejecting(true)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isWaiting, all.join()])

  useEffect(() => {
    if (rejecting) reason.current?.focus()
  }, [rejecting])

  if (!isWaiting) return null
  const where = session.conversation.value?.workspace.working_dir
  return (
    <section class="asking" aria-label={t('Waiting for you')} aria-busy={answer.busy}>
      <div role="alert">
        <h2>
          <Icon name="warning" />
          {plural(
            pending.length,
            'The agent asks before it does this',
            'The agent asks before it does these {n} things',
          )}
        </h2>
      </div>
      <ol class="asking-list">
        {pending.map(event => (
          <Pending
            key={event.id}
            event={event}
            where={where ?? ''}
            answered={answers.get(event.id)}
            onAnswer={pending.length > 1 ? accept => answer.run(accept, [event.id]) : undefined}
          />
        ))}
      </ol>
      {rejecting ? (
        <form
          class="asking-answer"
          onSubmit={event => {
            event.preventDefault()
            answer.run(false, all)
          }}
        >
          <input
            ref={reason}
            aria-label={t('Why not? (optional)')}
            placeholder={t('Why not? (optional)')}
            onKeyDown={event => event.key === 'Escape' && setRejecting(false)}
          />
          <button type="submit" class="danger">
            {t('Reject')}
          </button>
          <button type="button" onClick={() => setRejecting(false)}>
            {t('Back')}
          </button>
        </form>
      ) : (
        <div class="asking-answer">
          <button
            type="button"
            class="primary"
            aria-keyshortcuts="Alt+Y"
            disabled={answer.busy}
            onClick={() => answer.run(true, all)}
          >
            <Icon name="check" />
            {open.length > 1 ? t('Accept all') : t('Accept')}
            <kbd>Alt+Y</kbd>
          </button>
          <button
            type="button"
            class="danger"
            aria-keyshortcuts="Alt+N"
            disabled={answer.busy}
            onClick={() => setRejecting(true)}
          >
            <Icon name="close" />
            {open.length > 1 ? t('Reject all…') : t('Reject…')}
            <kbd>Alt+N</kbd>
          </button>
        </div>
      )}
      <Problem error={answer.problem} />
    </section>
  )
}

interface PendingProps {
  event: ActionEvent
  where: string
  /** What was said to it, while others wait. */
  answered: boolean | undefined
  /** For this one alone. */
  onAnswer: ((accept: boolean) => void) | undefined
}

function Pending({ event, where, answered, onAnswer }: PendingProps) {
  const { title, exact, language } = describe(event)
  const said = event.thought.map(part => part.text).join('\n')
  // Where the model gave none, its summary is the call itself again.
  const thought = event.summary?.startsWith(`${event.tool_name}: `) ? said : event.summary || said
  return (
    <li class="asking-item">
      <p class="asking-title">
        <strong>{title}</strong>
        <span class="chip" data-risk={event.security_risk}>
          {t(RISKS[event.security_risk])}
        </span>
        <span class="quiet">{t('in {where}', { where })}</span>
      </p>
      <Code text={exact} language={language} />
      {thought && <p class="quiet">{thought}</p>}
      {answered !== undefined && (
        <p class="quiet">{answered ? t('Accepted; it runs when all are answered.') : t('Rejected.')}</p>
      )}
      {onAnswer && answered === undefined && (
        <div class="row">
          <button type="button" aria-label={t('Accept: {title}', { title })} onClick={() => onAnswer(true)}>
            {t('Accept')}
          </button>
          <button type="button" aria-label={t('Reject: {title}', { title })} onClick={() => onAnswer(false)}>
            {t('Reject')}
          </button>
        </div>
      )}
    </li>
  )
}
