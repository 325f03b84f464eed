import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

export interface Choice<K extends string> {
  key: K
  label: string
  hint?: ComponentChildren
}

export interface ChoicesProps<K extends string> {
  label: string
  choices: readonly Choice<K>[]
  current: K
  onSelect: (key: K) => void
}

/** One of a few, each with what follows from it. */
export function Choices<K extends string>({ label, choices, current, onSelect }: ChoicesProps<K>) {
  const id = useId()
  return (
    <fieldset class="settings-choices">
      <legend>{label}</legend>
      {choices.map(({ key, label, hint }) => (
        <div key={key} class="settings-check">
          <input
            id={`${id}-${key}`}
            type="radio"
            name={id}
            checked={key === current}
            aria-describedby={hint ? `${id}-${key}-hint` : undefined}
            onChange={() => onSelect(key)}
          />
          <label for={`${id}-${key}`}>{label}</label>
          {hint && <small id={`${id}-${key}-hint`}>{hint}</small>}
        </div>
      ))}
    </fieldset>
  )
}
