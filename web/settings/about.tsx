import { useApp } from '../app.ts'
import { ActionButton, Loading } from '../ui/kit.tsx'
import { t } from '../words.ts'

export function AboutSection() {
  const { api, server } = useApp()
  const info = server.info.value
  if (!info) return <Loading />
  return (
    <>
      <div class="group stack">
        <dl class="settings-facts">
          <dt>{t('Version')}</dt>
          <dd>Gantry {info.gantry_version}</dd>
          <dt>{t('Interface')}</dt>
          <dd>{t('Agent server {version}', { version: info.version })}</dd>
          <dt>{t('Running for')}</dt>
          <dd>{duration(info.uptime)}</dd>
        </dl>
      </div>
      <div class="group stack">
        <h3>{t('Isolation')}</h3>
        <p>
          <span class="settings-state" data-kind={info.isolated ? 'good' : 'bad'}>
            {info.isolated ? t('Agents are walled in') : t('Agents are not walled in')}
          </span>
        </p>
        <p>
          {info.isolated
            ? t(
                'Commands see the files of their sandbox and nothing else of this machine: no file of yours, no key, no network but what was allowed.',
              )
            : t(
                'Commands of agents run with the rights of this server, and can read and change what it can. Have them ask before they act, or install bubblewrap or Docker.',
              )}
        </p>
        <p class="quiet">{t('The server says: {words}.', { words: info.isolation })}</p>
      </div>
      <div class="group stack">
        <h3>{t('For programs')}</h3>
        <ul class="settings-links">
          <li>
            <a href="docs">{t('The API, to read and to try')}</a>
          </li>
          <li>
            <a href="openapi.json">{t('The same as an OpenAPI document')}</a>
          </li>
        </ul>
      </div>
      <div class="group stack">
        <h3>{t('This browser')}</h3>
        <p class="quiet">{t('Signing out takes the key from this browser. Agents go on working.')}</p>
        <div class="row">
          <ActionButton
            action={async () => {
              await api.signOut()
              location.reload()
            }}
          >
            {t('Sign out')}
          </ActionButton>
        </div>
      </div>
    </>
  )
}

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return t('less than a minute')
  if (minutes < 60) return t('{n} min', { n: minutes })
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? t('{h} h {m} min', { h: hours, m: minutes % 60 }) : t('{n} days', { n: Math.floor(hours / 24) })
}
