import { useSignal } from '@preact/signals'
import { ring } from '../alerts.ts'
import { useApp } from '../app.ts'
import { LANGUAGES } from '../languages.ts'
import type { Preferences } from '../preferences.ts'
import { Field } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { Choices } from './choices.tsx'
import { Check } from './inputs.tsx'

type Theme = Preferences['theme']['value']

/** Each choice takes effect at once, and is kept in this browser. */
export function AppearanceSection() {
  const { theme, language, sound } = useApp().preferences
  return (
    <>
      <div class="group stack">
        <Choices<Theme>
          label={t('Theme')}
          current={theme.value}
          onSelect={key => {
            theme.value = key
          }}
          choices={[
            { key: 'system', label: t('As the system'), hint: t('Light or dark, as this device is set.') },
            { key: 'light', label: t('Light') },
            { key: 'dark', label: t('Dark') },
          ]}
        />
        {LANGUAGES.length > 1 && (
          <Field label={t('Language')} hint={t('Only of this page: agents answer in the language you write in.')}>
            {ids => (
              <select
                {...ids}
                value={language.value}
                onChange={event => {
                  language.value = event.currentTarget.value
                  location.reload()
                }}
              >
                {LANGUAGES.map(({ code, name }) => (
                  <option key={code} value={code}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
      </div>
      <div class="group stack">
        <h3>{t('When an agent needs you')}</h3>
        <NotifyCheck />
        <Check
          label={t('Play a sound')}
          hint={t('Two soft tones when an agent waits for you.')}
          checked={sound.value}
          onChange={checked => {
            sound.value = checked
            if (checked) ring()
          }}
        />
      </div>
    </>
  )
}

function NotifyCheck() {
  const { notify } = useApp().preferences
  const isOffered = 'Notification' in window
  const permission = useSignal(isOffered ? Notification.permission : 'denied')
  const change = async (checked: boolean) => {
    if (checked) permission.value = await Notification.requestPermission()
    notify.value = checked && permission.value === 'granted'
  }
  const refusal = !isOffered
    ? t('This browser shows no notifications here: it wants a secure address (https or localhost).')
    : t('The browser refuses notifications of this page. Allow them in its settings for this site, then try again.')
  return (
    <Check
      label={t('Show a notification')}
      hint={t('By the system, while you look at something else. The browser asks you once whether it may.')}
      problem={permission.value === 'denied' ? refusal : undefined}
      checked={notify.value && permission.value === 'granted'}
      disabled={!isOffered}
      onChange={change}
    />
  )
}
