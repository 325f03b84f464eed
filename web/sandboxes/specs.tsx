import { useApp } from '../app.ts'
import { Field } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'

/** Picks the template of a new sandbox, and says what it gives. */
export function Specs({ value, onChange }: { value: string; onChange: (spec: string) => void }) {
  const { quiet } = useApp()
  const { value: specs } = useLoad(() => quiet.searchSandboxSpecs())
  const chosen = specs?.items.find(({ id }) => id === value) ?? specs?.items[0]
  const variables = Object.keys(chosen?.initial_env ?? {})
  return (
    <Field
      label={t('Template')}
      hint={
        chosen
          ? `${t('Works in {folder}.', { folder: chosen.working_dir })} ${
              variables.length > 0 ? t('Sets {names}.', { names: variables.join(', ') }) : ''
            }`
          : undefined
      }
    >
      {ids => (
        <select {...ids} value={value} onChange={event => onChange(event.currentTarget.value)}>
          {specs?.items.map(({ id }, index) => (
            <option key={id} value={index === 0 ? '' : id}>
              {index === 0 ? t('{id} (default)', { id }) : id}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
