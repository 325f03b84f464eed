import { useApp } from '../app.ts'
import { t } from '../words.ts'
import { useDraft } from './draft.ts'
import { TextInput } from './inputs.tsx'
import { SaveForm } from './save-form.tsx'

export interface InstallOrder {
  source: string
  ref?: string | null
  repo_path?: string | null
}

export interface InstallFormProps {
  label: string
  install: (order: InstallOrder) => Promise<unknown>
  onDone: () => Promise<void>
  onCancel: () => void
}

export function InstallForm({ label, install, onDone, onCancel }: InstallFormProps) {
  const { toasts } = useApp()
  const draft = useDraft(() => null)
  return (
    <SaveForm
      label={label}
      draft={draft}
      save={t('Install')}
      onCancel={onCancel}
      onSave={async () => {
        await install(draft.changes as unknown as InstallOrder)
        draft.clear()
        toasts.say(t('Installed'))
        await onDone()
      }}
    >
      <TextInput
        draft={draft}
        name="source"
        label={t('Source')}
        required
        placeholder="github:owner/name"
        hint={t('github:owner/name, the address of a repository, or a folder of the default sandbox.')}
      />
      <div class="pair">
        <TextInput
          draft={draft}
          name="ref"
          label={t('Branch, tag or commit')}
          placeholder={t('The default branch')}
          hint={t('What is fetched stays as it is until you refresh it.')}
        />
        <TextInput
          draft={draft}
          name="repo_path"
          label={t('Folder')}
          placeholder={t('The top')}
          hint={t('Within the repository.')}
        />
      </div>
    </SaveForm>
  )
}
