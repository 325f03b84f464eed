import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Field, FieldNote } from '../ui/kit.tsx'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'

export interface InputProps {
  draft: Draft
  /** Of the draft. */
  name: string
  label: string
  hint?: ComponentChildren
}

type TextProps = InputProps & {
  type?: 'text' | 'url' | 'email'
  placeholder?: string
  required?: boolean
  pattern?: string
  /** The id of a list of proposals. */
  list?: string
}

/** Nothing written is null. */
export const TextInput = ({ draft, name, label, hint, ...more }: TextProps) => (
  <Field label={label} hint={hint} problem={draft.problemAt(name)}>
    {ids => (
      <input
        {...ids}
        {...more}
        autocomplete="off"
        spellcheck={false}
        value={String(draft.get(name) ?? '')}
        onInput={event => draft.set(name, event.currentTarget.value || null)}
      />
    )}
  </Field>
)

export const LongTextInput = ({ draft, name, label, hint, rows = 5 }: InputProps & { rows?: number }) => (
  <Field label={label} hint={hint} problem={draft.problemAt(name)}>
    {ids => (
      <textarea
        {...ids}
        rows={rows}
        value={String(draft.get(name) ?? '')}
        onInput={event => draft.set(name, event.currentTarget.value || null)}
      />
    )}
  </Field>
)

type NumberProps = InputProps & { fallback?: unknown; unit?: string; whole?: boolean }

/** Nothing written is the fallback. What is typed stays as typed: half a number is none yet. */
export const NumberInput = ({ draft, name, label, hint, fallback = null, unit, whole }: NumberProps) => (
  <Field label={unit ? `${label} (${unit})` : label} hint={hint} problem={draft.problemAt(name)}>
    {ids => (
      <input
        {...ids}
        key={draft.turn}
        class="settings-number"
        type="number"
        step={whole ? 1 : 'any'}
        placeholder={fallback === null ? t('Not set') : String(fallback)}
        defaultValue={String(draft.get(name) ?? '')}
        onInput={event => {
          const { value, valueAsNumber } = event.currentTarget
          draft.set(name, value === '' ? fallback : valueAsNumber)
        }}
      />
    )}
  </Field>
)

type ChoiceProps = InputProps & { choices: readonly { value: string | null; label: string }[] }

export const ChoiceInput = ({ draft, name, label, hint, choices }: ChoiceProps) => (
  <Field label={label} hint={hint} problem={draft.problemAt(name)}>
    {ids => (
      <select
        {...ids}
        value={String(draft.get(name) ?? '')}
        onChange={event => draft.set(name, event.currentTarget.value || null)}
      >
        {choices.map(({ value, label }) => (
          <option key={value} value={value ?? ''}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

export interface CheckProps {
  label: ComponentChildren
  hint?: ComponentChildren
  problem?: string | undefined
  checked: boolean
  disabled?: boolean
  onChange: (checked: boolean) => unknown
}

export function Check({ label, hint, problem, checked, disabled, onChange }: CheckProps) {
  const id = useId()
  return (
    <div class="settings-check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint || problem ? `${id}-hint` : undefined}
        onChange={event => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      <FieldNote id={`${id}-hint`} hint={hint} problem={problem} />
    </div>
  )
}

export const CheckInput = ({ draft, name, label, hint }: InputProps) => (
  <Check
    label={label}
    hint={hint}
    problem={draft.problemAt(name)}
    checked={draft.get(name) === true}
    onChange={checked => draft.set(name, checked)}
  />
)

type SecretProps = Omit<InputProps, 'hint'> & {
  hint?: string
  isSet: boolean
  /** What takes the stored one away; without it none can be removed. */
  removal?: unknown
}

/** Can be replaced and removed, never read: empty keeps what is stored. */
export function SecretInput({ draft, name, label, hint, isSet, removal }: SecretProps) {
  const keeps = isSet && t('Leave it empty to keep the one that is set.')
  const isRemoved = removal !== undefined && draft.changes[name] === removal
  const isTyped = name in draft.changes && !isRemoved
  const state = isRemoved ? t('Removed when you save') : isSet ? t('Set, not shown') : t('Not set')
  return (
    <Field label={label} hint={[hint, keeps].filter(Boolean).join(' ')} problem={draft.problemAt(name)}>
      {ids => (
        <div class="settings-secret">
          <input
            {...ids}
            key={draft.turn}
            type="password"
            autocomplete="new-password"
            placeholder={state}
            disabled={isRemoved}
            onInput={event => draft.set(name, event.currentTarget.value || undefined)}
          />
          {isSet && removal !== undefined && !isTyped && (
            <button type="button" onClick={() => draft.set(name, isRemoved ? undefined : removal)}>
              {isRemoved ? t('Keep it') : t('Remove')}
            </button>
          )}
        </div>
      )}
    </Field>
  )
}
