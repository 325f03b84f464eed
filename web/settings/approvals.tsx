import { useApp } from '../app.ts'
import { ActionButton, Empty, When } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'

export function ApprovalsSection() {
  const { api, toasts } = useApp()
  const load = useLoad(signal => api.listApprovals({ signal }))
  return (
    <Loaded load={load}>
      {({ approvals }) =>
        approvals.length === 0 ? (
          <Empty icon="check" title={t('Nothing is approved')}>
            <p>
              {t(
                'Setup scripts, hooks and MCP servers of a repository wait until you approve them, in its conversation.',
              )}
            </p>
          </Empty>
        ) : (
          <ul class="settings-list">
            {approvals.map(({ sha256, what, approved_at }) => (
              <li key={sha256} class="settings-row">
                <div class="settings-row-text">
                  <strong>{what ?? t('Something without a name')}</strong>
                  <p class="quiet">
                    {t('Approved')} <When at={approved_at} /> · <code title={sha256}>{sha256.slice(0, 12)}…</code>
                  </p>
                </div>
                <ActionButton
                  label={t('Withdraw the approval of {what}', { what: what ?? sha256 })}
                  action={async () => {
                    await api.withdrawApproval({ params: { sha256 } })
                    await load.again()
                    toasts.say(t('Withdrawn. It does not run any more, unless you approve it again.'))
                  }}
                >
                  {t('Withdraw')}
                </ActionButton>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}
