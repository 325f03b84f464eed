import { useState } from 'preact/hooks'
import type { MCPServer } from '../../src/api/mcp.ts'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { DeleteButton } from '../ui/dialog.tsx'
import { ActionButton } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { Check } from './inputs.tsx'
import { McpLogin } from './mcp-login.tsx'
import { type Probe, placeOf, probe, sealedServer } from './mcp-server.ts'
import { ProbeResult } from './probe-result.tsx'

export interface McpRowProps {
  name: string
  server: MCPServer
  onChange: () => Promise<void>
}

export function McpRow({ name, server, onChange }: McpRowProps) {
  const { api, toasts } = useApp()
  const [probed, setProbed] = useState<Probe>()
  const params = { settings_key: name }
  const enable = async (enabled: boolean) => {
    await api.updateMcpServer({ params, body: { enabled } })
    await onChange()
  }
  return (
    <li class="settings-row">
      <div class="settings-row-text">
        <strong>{name}</strong>
        {server.description && <p>{server.description}</p>}
        <p class="quiet">
          <code>{placeOf(server)}</code>
        </p>
        <Check
          label={t('On')}
          hint={t('New conversations get its tools.')}
          checked={server.enabled}
          onChange={checked => enable(checked).catch(toasts.complain)}
        />
        <ProbeResult probe={probed} />
      </div>
      <div class="row">
        {server.auth?.strategy === 'oauth2' && <McpLogin name={name} server={server} onDone={onChange} />}
        <ActionButton
          label={t('Test {name}', { name })}
          action={async () => {
            setProbed(undefined)
            setProbed(await probe(api, name, await sealedServer(api, name)))
          }}
        >
          {t('Test')}
        </ActionButton>
        <a class="button" href={hrefTo(['settings', 'mcp'], { edit: name })} aria-label={t('Edit {name}', { name })}>
          {t('Edit')}
        </a>
        <DeleteButton
          name={name}
          action={async () => {
            await api.deleteMcpServer({ params })
            await onChange()
            toasts.say(t('Deleted'))
          }}
        >
          {t('Its headers and variables are deleted too. To keep them, switch it off instead.')}
        </DeleteButton>
      </div>
    </li>
  )
}
