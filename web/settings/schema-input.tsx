import type { SettingsFieldSchema } from '../../src/api/settings.ts'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'
import { CheckInput, ChoiceInput, NumberInput, TextInput } from './inputs.tsx'

export interface Words {
  label?: string
  hint?: string
  unit?: string
}

export interface SchemaInputProps {
  draft: Draft
  field: SettingsFieldSchema
  /** What stands before the key in the names of the draft. */
  prefix?: string
  /** Instead of the words of the schema. */
  words?: Words | undefined
}

/** The input that fits a field of the settings, by what the server says of it. */
export function SchemaInput({ draft, field, prefix = '', words = {} }: SchemaInputProps) {
  const { key, value_type: type, choices } = field
  const common = {
    draft,
    name: `${prefix}${key}`,
    label: t(words.label ?? field.label),
    hint: t(words.hint ?? field.description ?? ''),
  }
  if (type === 'boolean') return <CheckInput {...common} />
  if (type === 'integer' || type === 'number')
    return (
      <NumberInput
        {...common}
        fallback={field.default}
        whole={type === 'integer'}
        {...(words.unit && { unit: t(words.unit) })}
      />
    )
  if (choices.length > 0) {
    const given = choices.map(({ value, label }) => ({ value: String(value), label: t(label) }))
    const none = field.default === null ? [{ value: null, label: t('Not set') }] : []
    return <ChoiceInput {...common} choices={[...none, ...given]} />
  }
  return <TextInput {...common} placeholder={field.default === null ? t('Not set') : String(field.default)} />
}
