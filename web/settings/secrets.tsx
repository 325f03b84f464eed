import { useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Empty } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'
import { SecretForm, type StoredSecret } from './secret-form.tsx'

type Doing = { kind: 'change' | 'delete'; secret: StoredSecret } | { kind: 'add' } | undefined

export function SecretsSection() {
  const { api, toasts } = useApp()
  const load = useLoad(signal => api.listCustomSecrets({ signal }))
  const [doing, setDoing] = useState<Doing>()
  const done = async (words: string) => {
    setDoing(undefined)
    await load.again()
    toasts.say(words)
  }
  const row = (secret: StoredSecret) =>
    doing?.kind === 'change' && doing.secret.name === secret.name ? (
      <li key={secret.name}>
        <SecretForm secret={secret} onDone={done} onCancel={() => setDoing(undefined)} />
      </li>
    ) : (
      <li key={secret.name} class="settings-row">
        <div class="settings-row-text">
          <code>{secret.name}</code>
          {secret.description && <p class="quiet">{secret.description}</p>}
        </div>
        <div class="row">
          <button
            type="button"
            aria-label={t('Change {name}', { name: secret.name })}
            onClick={() => setDoing({ kind: 'change', secret })}
          >
            {t('Change')}
          </button>
          <button
            type="button"
            class="danger"
            aria-label={t('Delete {name}', { name: secret.name })}
            onClick={() => setDoing({ kind: 'delete', secret })}
          >
            {t('Delete')}
          </button>
        </div>
      </li>
    )
  return (
    <Loaded load={load}>
      {({ custom_secrets: secrets }) => (
        <>
          {secrets.length > 0 ? (
            <ul class="settings-list">{secrets.map(row)}</ul>
          ) : (
            doing === undefined && (
              <Empty title={t('No secrets yet')}>
                <p>{t('Such as NPM_TOKEN, for an agent that publishes a package.')}</p>
              </Empty>
            )
          )}
          {doing?.kind === 'add' ? (
            <div class="group stack">
              <h3>{t('Add a secret')}</h3>
              <SecretForm onDone={done} onCancel={() => setDoing(undefined)} />
            </div>
          ) : (
            <div class="row">
              <button type="button" class="primary" onClick={() => setDoing({ kind: 'add' })}>
                {t('Add a secret')}
              </button>
            </div>
          )}
          {doing?.kind === 'delete' && (
            <Confirm
              title={t('Delete {name}?', { name: doing.secret.name })}
              yes={t('Delete')}
              onClose={() => setDoing(undefined)}
              action={async () => {
                await api.deleteSecret({ params: { name: doing.secret.name } })
                await done(t('Deleted'))
              }}
            >
              <p>{t('Commands that name it find nothing from then on. Its value cannot be brought back.')}</p>
            </Confirm>
          )}
        </>
      )}
    </Loaded>
  )
}
