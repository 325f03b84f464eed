import { useApp } from '../app.ts'
import { Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { GitProvider } from './git-provider.tsx'
import { TextInput } from './inputs.tsx'
import { Loaded } from './loaded.tsx'
import { SettingsForm } from './settings-form.tsx'

const PROVIDERS = {
  github: { name: 'GitHub', host: 'github.com' },
  gitlab: { name: 'GitLab', host: 'gitlab.com' },
  bitbucket: { name: 'Bitbucket', host: 'bitbucket.org' },
  bitbucket_data_center: { name: 'Bitbucket Data Center', host: undefined },
  forgejo: { name: 'Forgejo', host: 'codeberg.org' },
  azure_devops: { name: 'Azure DevOps', host: 'dev.azure.com' },
} as const
export type GitProviderKey = keyof typeof PROVIDERS

export function GitSection() {
  const { api } = useApp()
  const load = useLoad(async signal => (await api.getSettings({ signal })).provider_tokens_set)
  return (
    <>
      <Loaded load={load}>
        {hosts => (
          <>
            {Object.keys(hosts).length > 0 && <Whose key={Object.keys(hosts).join()} />}
            <ul class="settings-list">
              {(Object.keys(PROVIDERS) as GitProviderKey[]).map(key => (
                <GitProvider key={key} provider={key} {...PROVIDERS[key]} hosts={hosts} onChange={load.again} />
              ))}
            </ul>
          </>
        )}
      </Loaded>
      <div class="group stack">
        <h3>{t('Commits')}</h3>
        <SettingsForm label={t('Commits')}>
          {draft => (
            <div class="pair">
              <TextInput
                draft={draft}
                name="git_user_name"
                label={t('Name')}
                hint={t('The author of commits that agents make.')}
              />
              <TextInput
                draft={draft}
                name="git_user_email"
                type="email"
                label={t('Email')}
                hint={t('Written into each commit.')}
              />
            </div>
          )}
        </SettingsForm>
      </div>
    </>
  )
}

/** Proves that the tokens work. Quiet: a provider that refuses its token must not have the person asked for the session key. */
function Whose() {
  const { quiet } = useApp()
  const { value, problem, again } = useLoad(signal => quiet.userGitInfo({ signal }))
  if (problem !== undefined) return <Problem error={problem} again={again} />
  return (
    <p role="status">
      {value && (
        <span class="settings-state" data-kind="good">
          {t('The token works: it is of {login}.', {
            login: value.name ? `${value.name} (${value.login})` : value.login,
          })}
        </span>
      )}
    </p>
  )
}
