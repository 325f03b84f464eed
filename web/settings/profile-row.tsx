import { useState } from 'preact/hooks'
import type { ProfileInfo } from '../../src/api/profiles.ts'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { DeleteButton } from '../ui/dialog.tsx'
import { ActionButton } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { type Tested, testStored, Verdict } from './profile-test.tsx'

export interface ProfileRowProps {
  profile: ProfileInfo
  isDefault: boolean
  makeDefault: () => Promise<void>
  onChange: () => Promise<void>
}

export function ProfileRow({ profile, isDefault, makeDefault, onChange }: ProfileRowProps) {
  const { api, toasts } = useApp()
  const [tested, setTested] = useState<Tested>()
  const { name, model, base_url: address } = profile
  const remove = async () => {
    // One that is built in stays, which the server says.
    const { message } = await api.deleteProfile({ params: { name } })
    await onChange()
    toasts.say(message)
  }
  return (
    <li class="settings-row">
      <div class="settings-row-text">
        <strong>{name}</strong> {isDefault && <span class="settings-badge">{t('Default')}</span>}
        <p class="quiet">
          <code>{model}</code>
          {address && (
            <>
              {' '}
              {t('at')} <code>{address}</code>
            </>
          )}
        </p>
        {!profile.api_key_set && (
          <p class="settings-state" data-kind="warn">
            {profile.provider_connection_broken
              ? t('Its provider connection is gone: give it a key')
              : t('It has no key yet')}
          </p>
        )}
        <Verdict tested={tested} />
      </div>
      <div class="row">
        {!isDefault && (
          <ActionButton label={t('Make default: {name}', { name })} action={makeDefault}>
            {t('Make default')}
          </ActionButton>
        )}
        <ActionButton
          label={t('Test {name}', { name })}
          action={async () => {
            setTested(undefined)
            setTested(await testStored(api, name))
          }}
        >
          {t('Test')}
        </ActionButton>
        <a class="button" href={hrefTo(['settings', 'models'], { edit: name })} aria-label={t('Edit {name}', { name })}>
          {t('Edit')}
        </a>
        <DeleteButton name={name} action={remove}>
          {t('Its key is deleted too. Conversations that think with it go on.')}
        </DeleteButton>
      </div>
    </li>
  )
}
