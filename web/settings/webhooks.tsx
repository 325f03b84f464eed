import type { Api } from '../api.ts'
import { useApp } from '../app.ts'
import { ActionButton, Empty, When } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { plural, t } from '../words.ts'
import { Loaded } from './loaded.tsx'

type Webhook = Awaited<ReturnType<Api['listWebhooks']>>[number]

const STATUS: Record<Webhook['status'], { word: string; kind: 'good' | 'warn' | 'bad' }> = {
  ok: { word: 'Takes everything', kind: 'good' },
  failing: { word: 'Failing: tried again', kind: 'warn' },
  suspended: { word: 'Takes nothing: one try at a time', kind: 'bad' },
  paused: { word: 'Paused', kind: 'warn' },
}

export function WebhooksSection() {
  const { api } = useApp()
  const load = useLoad(signal => api.listWebhooks({ signal }))
  return (
    <Loaded load={load}>
      {webhooks =>
        webhooks.length === 0 ? (
          <Empty icon="link" title={t('Nobody is told')}>
            <p>{t('Webhooks are set up where the server is started. “gantry --help” says how.')}</p>
          </Empty>
        ) : (
          <>
            <ul class="settings-list">
              {webhooks.map(webhook => (
                <WebhookRow key={webhook.id} webhook={webhook} onChange={load.again} />
              ))}
            </ul>
            <div class="row">
              <ActionButton icon="refresh" action={load.again}>
                {t('Look again')}
              </ActionButton>
            </div>
          </>
        )
      }
    </Loaded>
  )
}

function WebhookRow({ webhook, onChange }: { webhook: Webhook; onChange: () => Promise<void> }) {
  const { api } = useApp()
  const { word, kind } = STATUS[webhook.status]
  const params = { webhook_id: webhook.id }
  const again = webhook.status === 'paused' ? t('Resume') : t('Try now')
  const resume = async () => {
    await api.resumeWebhook({ params })
    await onChange()
  }
  const pause = async () => {
    await api.pauseWebhook({ params })
    await onChange()
  }
  return (
    <li class="settings-row">
      <div class="settings-row-text">
        <code>{webhook.base_url}</code>
        <p>
          <span class="settings-state" data-kind={kind}>
            {t(word)}
          </span>
        </p>
        <p class="quiet">
          {t('{n} delivered', { n: webhook.delivered })}
          {webhook.pending_conversations > 0 &&
            ` · ${plural(webhook.pending_conversations, '{n} conversation waits', '{n} conversations wait')}`}
          {webhook.last_success_at && (
            <>
              {' · '}
              {t('last')} <When at={webhook.last_success_at} />
            </>
          )}
        </p>
        {webhook.last_error && (
          <p class="quiet">
            <When at={webhook.last_error.at} />: {webhook.last_error.message}
          </p>
        )}
      </div>
      <div class="row">
        {webhook.status !== 'ok' && (
          <ActionButton action={resume} label={`${again}: ${webhook.base_url}`}>
            {again}
          </ActionButton>
        )}
        {webhook.status !== 'paused' && (
          <ActionButton action={pause} label={t('Pause {url}', { url: webhook.base_url })}>
            {t('Pause')}
          </ActionButton>
        )}
      </div>
    </li>
  )
}
