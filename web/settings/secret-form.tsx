import type { Api } from '../api.ts'
import { useApp } from '../app.ts'
import { t } from '../words.ts'
import { useDraft } from './draft.ts'
import { SecretInput, TextInput } from './inputs.tsx'
import { SaveForm } from './save-form.tsx'

export type StoredSecret = Awaited<ReturnType<Api['listCustomSecrets']>>['custom_secrets'][number]

export interface SecretFormProps {
  /** The one to change; a new one without. */
  secret?: StoredSecret
  /** With what happened, in words. */
  onDone: (words: string) => Promise<unknown>
  onCancel: () => void
}

export function SecretForm({ secret, onDone, onCancel }: SecretFormProps) {
  const { api } = useApp()
  const draft = useDraft(key => secret?.[key as keyof StoredSecret] ?? null)
  const save = async () => {
    const name = String(draft.get('name') ?? '')
    const description = (draft.get('description') as string | null) ?? ''
    const value = draft.get('value') as string | null
    if (!secret) await api.createCustomSecret({ body: { name, value: value ?? '', description } })
    else {
      if ('name' in draft.changes || 'description' in draft.changes)
        await api.changeCustomSecret({ params: { secret_id: secret.name }, body: { name, description } })
      if (value) await api.putSecret({ body: { name, value } })
    }
    draft.clear()
    await onDone(secret ? t('Changed') : t('Added'))
  }
  return (
    <SaveForm
      label={secret ? t('Change {name}', { name: secret.name }) : t('Add a secret')}
      draft={draft}
      onSave={save}
      onCancel={onCancel}
    >
      <div class="pair">
        <TextInput
          draft={draft}
          name="name"
          label={t('Name')}
          required
          pattern="[a-zA-Z][a-zA-Z0-9_]{0,63}"
          hint={t('Of the environment variable: a letter, then letters, digits and underscores.')}
        />
        <SecretInput
          draft={draft}
          name="value"
          label={t('Value')}
          isSet={secret !== undefined}
          hint={t('Can be replaced later, never read.')}
        />
      </div>
      <TextInput
        draft={draft}
        name="description"
        label={t('Description')}
        hint={t('What it is for. Agents read this, so that they know when to use it.')}
      />
    </SaveForm>
  )
}
