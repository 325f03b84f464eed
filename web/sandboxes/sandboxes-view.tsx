import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { ActionButton, Empty, Loading, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { SandboxCard } from './sandbox-card.tsx'
import { Specs } from './specs.tsx'

/** A state that is this old still counts as live. */
const REFRESH_MS = 3000

/** Every sandbox there is, what it uses and what it is for. */
export function SandboxesView() {
  const { quiet, api, toasts } = useApp()
  const sandboxes = useLoad(() => quiet.searchSandboxes({ query: { limit: 100 } }))
  const conversations = useLoad(() => quiet.searchAppConversations({ query: { limit: 100 } }))
  const [spec, setSpec] = useState('')

  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && sandboxes.again(), REFRESH_MS)
    return () => clearInterval(timer)
  }, [])

  const start = async () => {
    const { id } = await api.startSandbox({ query: spec ? { sandbox_spec_id: spec } : {} })
    toasts.say(t('Sandbox {id} starts.', { id }))
    await sandboxes.again()
  }
  const items = sandboxes.value?.items
  return (
    <div class="panel sandboxes">
      <a class="back" href={hrefTo([])}>
        <Icon name="back" />
        {t('Conversations')}
      </a>
      <header>
        <h1>{t('Sandboxes')}</h1>
        <p class="quiet">
          {t(
            'Where agents work: each with its own files, processes and network. Paused ones keep their files and processes.',
          )}
        </p>
      </header>
      <div class="group stack">
        <Specs value={spec} onChange={setSpec} />
        <div class="row">
          <ActionButton class="primary" icon="plus" action={start}>
            {t('Start a sandbox')}
          </ActionButton>
        </div>
      </div>
      <Problem error={sandboxes.problem} again={sandboxes.again} />
      {items === undefined && sandboxes.problem === undefined && <Loading />}
      {items?.length === 0 && (
        <Empty icon="folder" title={t('No sandbox yet.')}>
          <p>{t('The first one is made when an agent or you run something.')}</p>
        </Empty>
      )}
      <ul class="sandbox-list">
        {items?.map(sandbox => (
          <SandboxCard
            key={sandbox.id}
            sandbox={sandbox}
            conversations={(conversations.value?.items ?? []).filter(one => one.sandbox_id === sandbox.id)}
            onChanged={sandboxes.again}
          />
        ))}
      </ul>
    </div>
  )
}
