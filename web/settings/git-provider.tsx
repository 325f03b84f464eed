import { useState } from 'preact/hooks'
import { ClientError } from '../../client/index.ts'
import type { Api } from '../api.ts'
import { useApp } from '../app.ts'
import { Confirm } from '../ui/dialog.tsx'
import { t } from '../words.ts'
import { useDraft } from './draft.ts'
import type { GitProviderKey } from './git.tsx'
import { SecretInput, TextInput } from './inputs.tsx'
import { SaveForm } from './save-form.tsx'

export interface GitProviderProps {
  provider: GitProviderKey
  name: string
  /** Where it is unless another is given; without it one has to be. */
  host: string | undefined
  /** Of the providers that have a token. */
  hosts: Readonly<Record<string, string | null>>
  onChange: () => Promise<void>
}

type Tokens = NonNullable<Parameters<Api['storeProviderTokens']>[0]['body']['provider_tokens']>

/** The server takes all of them at once: those that are left out are removed, those without a token keep theirs. */
const others = (hosts: GitProviderProps['hosts'], provider: string): Tokens =>
  Object.fromEntries(
    Object.keys(hosts)
      .filter(key => key !== provider)
      .map(key => [key, {}]),
  )

/** A refused token is answered as a missing session key is: only that one is asked for. */
async function store({ api, quiet }: { api: Api; quiet: Api }, provider_tokens: Tokens): Promise<void> {
  const body = { provider_tokens }
  try {
    await quiet.storeProviderTokens({ body })
  } catch (error) {
    const { code } = (error instanceof ClientError ? error.body : {}) as { code?: string }
    if (code !== 'unauthorized') throw error
    await api.storeProviderTokens({ body })
  }
}

export function GitProvider({ provider, name, host, hosts, onChange }: GitProviderProps) {
  const app = useApp()
  const [doing, setDoing] = useState<'edit' | 'remove'>()
  const isSet = provider in hosts
  const done = async (words: string) => {
    setDoing(undefined)
    await onChange()
    app.toasts.say(words)
  }
  if (doing === 'edit')
    return (
      <li>
        <TokenForm
          provider={provider}
          name={name}
          host={host}
          hosts={hosts}
          onCancel={() => setDoing(undefined)}
          onDone={done}
        />
      </li>
    )
  return (
    <li class="settings-row">
      <div class="settings-row-text">
        <strong>{name}</strong>
        <p class="quiet">
          {isSet ? t('A token is set, for {host}', { host: hosts[provider] ?? host ?? '' }) : t('No token')}
        </p>
      </div>
      <div class="row">
        <button
          type="button"
          aria-label={isSet ? t('Change the token of {name}', { name }) : t('Add a token of {name}', { name })}
          onClick={() => setDoing('edit')}
        >
          {isSet ? t('Change') : t('Add a token')}
        </button>
        {isSet && (
          <button
            type="button"
            class="danger"
            aria-label={t('Remove the token of {name}', { name })}
            onClick={() => setDoing('remove')}
          >
            {t('Remove')}
          </button>
        )}
      </div>
      {doing === 'remove' && (
        <Confirm
          title={t('Remove the token of {name}?', { name })}
          yes={t('Remove')}
          onClose={() => setDoing(undefined)}
          action={async () => {
            await store(app, others(hosts, provider))
            await done(t('Removed'))
          }}
        >
          <p>{t('Private repositories there cannot be fetched any more.')}</p>
        </Confirm>
      )}
    </li>
  )
}

type TokenFormProps = Omit<GitProviderProps, 'onChange'> & {
  onCancel: () => void
  onDone: (words: string) => Promise<void>
}

function TokenForm({ provider, name, host, hosts, onCancel, onDone }: TokenFormProps) {
  const app = useApp()
  const isSet = provider in hosts
  const draft = useDraft(key => (key === 'host' ? (hosts[provider] ?? null) : null))
  const save = async () => {
    await store(app, { ...others(hosts, provider), [provider]: draft.changes })
    draft.clear()
    await onDone(t('Saved'))
  }
  return (
    <div class="group stack">
      <h3>{t('Token of {name}', { name })}</h3>
      <SaveForm label={t('Token of {name}', { name })} draft={draft} onSave={save} onCancel={onCancel}>
        <div class="pair">
          <SecretInput
            draft={draft}
            name="token"
            label={t('Token')}
            isSet={isSet}
            hint={t(
              'A personal access token that may read (and, for pull requests, write) repositories. Where the provider can be asked, it is tried before it is kept.',
            )}
          />
          <TextInput
            draft={draft}
            name="host"
            label={t('Host')}
            required={host === undefined}
            placeholder={host ?? 'git.example.com'}
            hint={host ? t('Only for a server of your own.') : t('Where your server is.')}
          />
        </div>
      </SaveForm>
    </div>
  )
}
