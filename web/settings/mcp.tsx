import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Empty } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'
import { McpForm } from './mcp-form.tsx'
import { McpRow } from './mcp-row.tsx'

/** `?add` and `?edit=NAME` open the form, so that the browser's back closes it. */
export function McpSection() {
  const { api, route } = useApp()
  const { query } = route.value
  const edited = query.get('edit')
  const load = useLoad(async signal => (await api.getSettings({ signal })).agent_settings.mcp_config)
  return (
    <Loaded load={load}>
      {servers => {
        const server = edited === null ? undefined : servers[edited]
        if (edited !== null && server)
          return <McpForm key={edited} name={edited} server={server} onSaved={load.again} />
        if (query.has('add')) return <McpForm onSaved={load.again} />
        const names = Object.keys(servers)
        return (
          <>
            {names.length === 0 ? (
              <Empty icon="link" title={t('No MCP servers yet')}>
                <p>{t('Such as one that searches your tickets, or drives a browser.')}</p>
              </Empty>
            ) : (
              <ul class="settings-list">
                {names.map(name => (
                  <McpRow key={name} name={name} server={servers[name]!} onChange={load.again} />
                ))}
              </ul>
            )}
            <div class="row">
              <a class="button primary" href={hrefTo(['settings', 'mcp'], { add: '1' })}>
                {t('Add a server')}
              </a>
            </div>
          </>
        )
      }}
    </Loaded>
  )
}
