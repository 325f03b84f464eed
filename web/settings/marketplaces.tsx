import { useState } from 'preact/hooks'
import type { MarketplaceRegistration } from '../../src/api/skills.ts'
import { useApp } from '../app.ts'
import { ActionButton } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { useDraft } from './draft.ts'
import { TextInput } from './inputs.tsx'
import { Loaded } from './loaded.tsx'
import { SaveForm } from './save-form.tsx'

/** Repositories that list skills and plugins. The server takes the whole list at once. */
export function Marketplaces() {
  const { api, toasts } = useApp()
  const load = useLoad(async signal => (await api.getAppSettings({ signal })).registered_marketplaces)
  const [isAdding, setAdding] = useState(false)
  const store = async (registered_marketplaces: MarketplaceRegistration[]) => {
    await api.storeAppSettings({ body: { registered_marketplaces } })
    await load.again()
    toasts.say(t('Saved. What they offer is listed when you come back here.'))
  }
  return (
    <div class="group stack">
      <div class="settings-lead">
        <h3>{t('Marketplaces')}</h3>
        <p class="quiet">{t('Repositories that list skills and plugins, for you to choose from.')}</p>
      </div>
      <Loaded load={load}>
        {registered => (
          <>
            {registered.length === 0 && !isAdding && (
              <p class="quiet">{t('None is registered, so nothing is offered.')}</p>
            )}
            <ul class="settings-list">
              {registered.map(one => (
                <li key={one.name} class="settings-row">
                  <div class="settings-row-text">
                    <strong>{one.name}</strong>
                    <p class="quiet">
                      <code>{one.source}</code>
                    </p>
                  </div>
                  <ActionButton
                    label={t('Remove {name}', { name: one.name })}
                    action={() => store(registered.filter(other => other.name !== one.name))}
                  >
                    {t('Remove')}
                  </ActionButton>
                </li>
              ))}
            </ul>
            {isAdding ? (
              <MarketplaceForm
                onCancel={() => setAdding(false)}
                onSave={async added => {
                  await store([...registered.filter(({ name }) => name !== added.name), added])
                  setAdding(false)
                }}
              />
            ) : (
              <div class="row">
                <button type="button" onClick={() => setAdding(true)}>
                  {t('Register a marketplace')}
                </button>
                {registered.length > 0 && (
                  <ActionButton action={async () => toasts.say((await api.syncSkills()).message)}>
                    {t('Read them anew')}
                  </ActionButton>
                )}
              </div>
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}

interface MarketplaceFormProps {
  onSave: (added: MarketplaceRegistration) => Promise<void>
  onCancel: () => void
}

function MarketplaceForm({ onSave, onCancel }: MarketplaceFormProps) {
  const draft = useDraft(() => null)
  const text = (key: string) => (draft.get(key) as string | null) ?? ''
  const save = () =>
    onSave({ name: text('name'), source: text('source'), ref: null, repo_path: null, auto_load: false })
  return (
    <SaveForm label={t('Register a marketplace')} draft={draft} onCancel={onCancel} onSave={save}>
      <div class="pair">
        <TextInput draft={draft} name="name" label={t('Name')} required hint={t('What you call it.')} />
        <TextInput
          draft={draft}
          name="source"
          label={t('Source')}
          required
          placeholder="github:owner/name"
          hint={t('github:owner/name, or the address of a repository.')}
        />
      </div>
    </SaveForm>
  )
}
