import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { ActionButton } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'
import { LocalModels } from './local-models.tsx'
import { ProfileForm } from './profile-form.tsx'
import { ProfileRow } from './profile-row.tsx'

const DEMO_MODEL = 'demo/guide'

/** `?add` and `?edit=NAME` open the form, so that the browser's back closes it. */
export function ModelsSection() {
  const { query } = useApp().route.value
  const edited = query.get('edit')
  if (edited) return <ProfileForm key={edited} name={edited} />
  if (query.has('add')) return <ProfileForm proposed={Object.fromEntries(query)} />
  return <ModelList />
}

function ModelList() {
  const { api, toasts } = useApp()
  const load = useLoad(signal => api.listProfiles({ signal }))
  const makeDefault = async (name: string) => {
    await api.activateProfile({ params: { name } })
    await load.again()
    toasts.say(t('New conversations start with {name}', { name }))
  }
  return (
    <Loaded load={load}>
      {({ profiles, active_profile: active }) => (
        <>
          <ul class="settings-list">
            {profiles.map(profile => (
              <ProfileRow
                key={profile.name}
                profile={profile}
                isDefault={profile.name === active}
                makeDefault={() => makeDefault(profile.name)}
                onChange={load.again}
              />
            ))}
            {profiles.every(({ model }) => model !== DEMO_MODEL) && (
              <li class="settings-row">
                <div class="settings-row-text">
                  <strong>{t('Demo')}</strong>
                  <p class="quiet">{t('No model at all: it plays a short tour with real tools, and needs no key.')}</p>
                </div>
                <ActionButton label={t('Make default: {name}', { name: 'demo' })} action={() => makeDefault('demo')}>
                  {t('Make default')}
                </ActionButton>
              </li>
            )}
          </ul>
          <div class="row">
            <a class="button primary" href={hrefTo(['settings', 'models'], { add: '1' })}>
              {t('Add a model')}
            </a>
          </div>
          <LocalModels known={profiles} />
        </>
      )}
    </Loaded>
  )
}
