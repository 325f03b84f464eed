import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { parseTime } from '../../src/lib/time.ts'
import { wordsOf } from '../api.ts'
import { t } from '../words.ts'
import { Icon, type IconName } from './icon.tsx'
import { useAction } from './use-action.ts'

/** What went wrong, in place, with a way on. */
export const Problem = ({ error, again }: { error: unknown; again?: () => unknown }) =>
  error === undefined ? null : (
    <div class="problem" role="alert">
      <span>{wordsOf(error)}</span>
      {again && (
        <button type="button" onClick={() => again()}>
          {t('Try again')}
        </button>
      )}
    </div>
  )

/** Where nothing is yet: what would be here, and how to get it. */
export const Empty = ({ icon, title, children }: { icon?: IconName; title: string; children?: ComponentChildren }) => (
  <div class="empty">
    {icon && <Icon name={icon} />}
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** Shown only when something takes a while, so that nothing flickers. */
export const Loading = ({ label = t('Loading…') }: { label?: string }) => (
  <p class="loading" role="status">
    {label}
  </p>
)

interface FieldNoteProps {
  id: string
  hint?: ComponentChildren
  /** Why the server did not take it. */
  problem?: ComponentChildren
}

/** What stands below a control: why it was refused, and what it does. */
export const FieldNote = ({ id, hint, problem }: FieldNoteProps) =>
  hint || problem ? (
    <small id={id}>
      {problem && (
        <strong class="field-problem" role="alert">
          {problem}
        </strong>
      )}
      {hint}
    </small>
  ) : null

export interface FieldProps {
  label: string
  /** What it does, and what follows from it. */
  hint?: ComponentChildren
  /** What is wrong with what it holds. */
  problem?: string | undefined
  /** Takes the ids that tie it to its label and hint. */
  children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => JSX.Element
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...((hint || problem) && { 'aria-describedby': hintId }),
        ...(problem && { 'aria-invalid': true }),
      })}
      <FieldNote id={hintId} hint={hint} problem={problem} />
    </div>
  )
}

export interface FormProps {
  /** Rejecting shows why, below. */
  onSend: () => Promise<unknown>
  class?: string
  label?: string
  children: ComponentChildren
}

/** Sent once at a time; says in words what went wrong. */
export function Form({ onSend, class: name = 'stack', label, children }: FormProps) {
  const { run, busy, problem } = useAction(onSend)
  return (
    <form
      class={name}
      aria-label={label}
      aria-busy={busy}
      onSubmit={event => {
        event.preventDefault()
        run()
      }}
    >
      {children}
      <Problem error={problem} />
    </form>
  )
}

export interface ActionButtonProps {
  action: () => Promise<unknown>
  class?: string
  icon?: IconName
  /** Read out instead of the content, for buttons that are only an icon. */
  label?: string
  disabled?: boolean
  /** Instead of saying what went wrong below the button. */
  onProblem?: (error: unknown) => void
  children?: ComponentChildren
}

/** A button that does something on the server: once at a time. */
export function ActionButton({
  action,
  icon,
  label,
  disabled,
  onProblem,
  children,
  class: name = '',
}: ActionButtonProps) {
  const { run, busy, problem } = useAction(() =>
    action().catch(error => {
      if (!onProblem) throw error
      onProblem(error)
    }),
  )
  return (
    <>
      <button
        type="button"
        class={name}
        aria-label={label}
        title={label}
        aria-busy={busy}
        disabled={disabled || busy}
        onClick={() => run()}
      >
        {icon && <Icon name={icon} />}
        {children}
      </button>
      <Problem error={problem} />
    </>
  )
}

/** The time of day for today, the day otherwise. Timestamps are UTC with or without saying so. */
export function When({ at }: { at: string }) {
  const date = new Date((parseTime(at) ?? 0) / 1000)
  const today = date.toDateString() === new Date().toDateString()
  const text = today
    ? date.toLocaleTimeString([], { timeStyle: 'short' })
    : date.toLocaleDateString([], { dateStyle: 'medium' })
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {text}
    </time>
  )
}

export const bytes = (n: number): string =>
  n < 1024
    ? `${n} B`
    : n < 1024 ** 2
      ? `${Math.round(n / 1024)} KB`
      : n < 1024 ** 3
        ? `${(n / 1024 ** 2).toFixed(1)} MB`
        : `${(n / 1024 ** 3).toFixed(2)} GB`

/** What else could be copied goes through here, so that it says that it did. */
export async function copyText(text: string): Promise<void> {
  // Only for pages that came over https or from this very machine.
  if (navigator.clipboard) await navigator.clipboard.writeText(text)
  else if (!copySelected(text)) throw new Error(t('This browser copies nothing here. Select the text and copy it.'))
}

/** The older way: what is selected in a field. Of a dialog's own, as long as it is open: nothing beside it can be selected. */
function copySelected(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  Object.assign(field.style, { position: 'fixed', opacity: '0' })
  ;(focused?.closest('dialog') ?? document.body).append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return done
}
