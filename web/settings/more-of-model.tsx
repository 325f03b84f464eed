import type { SettingsSchema } from '../../src/api/settings.ts'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'
import { SecretInput } from './inputs.tsx'
import { AWS_SECRETS, MORE } from './llm-words.ts'
import type { Llm } from './profile-test.tsx'
import { SchemaInput } from './schema-input.tsx'

export interface MoreOfModelProps {
  draft: Draft
  schema: SettingsSchema
  stored: Llm
}

/** What most people never change. */
export function MoreOfModel({ draft, schema, stored }: MoreOfModelProps) {
  const fields = schema.sections.flatMap(({ fields }) => fields).filter(({ variant }) => variant !== 'acp')
  const shown = Object.keys(MORE).flatMap(key => fields.find(field => field.key === key) ?? [])
  return (
    <details class="settings-more">
      <summary>{t('More')}</summary>
      <div class="pair">
        {shown.map(field => (
          <SchemaInput
            key={field.key}
            draft={draft}
            field={{ ...field, key: field.key.replace('llm.', '') }}
            words={MORE[field.key]}
          />
        ))}
        {Object.entries(AWS_SECRETS).map(([key, { label = '', hint = '' }]) => (
          <SecretInput
            key={key}
            draft={draft}
            name={key}
            label={t(label)}
            hint={t(hint)}
            isSet={!!stored[key]}
            removal=""
          />
        ))}
      </div>
    </details>
  )
}
