import { useState } from 'preact/hooks'
import type { AppConversation } from '../../src/api/app-conversations.ts'
import type { SandboxInfo, SandboxReport } from '../../src/api/sandboxes.ts'
import { useApp } from '../app.ts'
import { titleOf } from '../conversations/status.tsx'
import { withHyphens } from '../ids.ts'
import { hrefTo } from '../route.ts'
import { Confirm } from '../ui/dialog.tsx'
import { ActionButton, bytes, When } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { plural, t } from '../words.ts'
import { Report } from './report.tsx'

const WORDS: Record<SandboxInfo['status'], string> = {
  STARTING: 'Starting',
  RUNNING: 'Running',
  PAUSED: 'Paused',
  ERROR: 'Failed',
  MISSING: 'Gone',
}

function networkOf({ mode, hosts }: SandboxReport['egress']): string {
  const named = hosts.join(', ')
  if (mode === 'none') return t('No network.')
  if (mode === 'hosts') return t('May reach {hosts} and nothing else.', { hosts: named || t('nothing') })
  return named ? t('May reach the public internet and {hosts}.', { hosts: named }) : t('May reach the public internet.')
}

export interface SandboxCardProps {
  sandbox: SandboxInfo
  /** Those that work in it. */
  conversations: readonly AppConversation[]
  onChanged: () => Promise<void>
}

export function SandboxCard({ sandbox, conversations, onChanged }: SandboxCardProps) {
  const { id, status, status_detail: detail, sandbox_spec_id: spec, created_at } = sandbox
  const { api, quiet } = useApp()
  const [isDeleting, setDeleting] = useState(false)
  // What it uses is asked for anew with every reading of the list.
  const report = useLoad(() => quiet.reportSandbox({ params: { sandbox_id: id } }), [id, sandbox])
  const params = { sandbox_id: id }
  const after = (action: () => Promise<unknown>) => async () => {
    await action()
    await onChanged()
  }
  const usage = report.value?.usage
  return (
    <li class="group sandbox">
      <div class="sandbox-head">
        <h2>{id}</h2>
        <span class="status" data-status={status === 'RUNNING' ? 'running' : status === 'ERROR' ? 'error' : 'paused'}>
          {t(WORDS[status])}
        </span>
        <span class="quiet">
          {spec} · {t('since')} <When at={created_at} />
        </span>
      </div>
      {usage && (
        <p class="sandbox-usage">
          {t('{memory} of {limit} memory, {disk} on disk', {
            memory: bytes(usage.memory_bytes),
            limit: bytes(report.value!.limits.memory_bytes),
            disk: bytes(usage.disk_bytes),
          })}
          , {plural(usage.processes, '{n} process', '{n} processes')}
        </p>
      )}
      {report.value && <p class="quiet">{networkOf(report.value.egress)}</p>}
      {detail && <p class={status === 'ERROR' ? 'problem' : 'quiet'}>{detail}</p>}
      {conversations.length > 0 && (
        <ul class="sandbox-conversations">
          {conversations.map(one => (
            <li key={one.id}>
              <a href={hrefTo(['c', withHyphens(one.id)])}>{titleOf(one)}</a>
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        {status === 'RUNNING' && (
          <ActionButton icon="pause" action={after(() => api.pauseSandbox({ params }))}>
            {t('Pause')}
          </ActionButton>
        )}
        {status !== 'RUNNING' && status !== 'STARTING' && (
          <ActionButton icon="play" action={after(() => api.resumeSandbox({ params }))}>
            {t('Resume')}
          </ActionButton>
        )}
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          {t('Delete')}
        </button>
      </div>
      {report.value && <Report report={report.value} />}
      {isDeleting && (
        <Confirm
          title={t('Delete this sandbox?')}
          yes={t('Delete')}
          onClose={() => setDeleting(false)}
          action={after(() => api.deleteSandbox({ params }))}
        >
          <p>{t('Its files and processes are gone for good. Conversations keep their events.')}</p>
        </Confirm>
      )}
    </li>
  )
}
