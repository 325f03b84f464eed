import type { ProfileInfo } from '../../src/api/profiles.ts'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'

/** Of a server, so that many do not bury the page. */
const SHOWN = 12

/** Model servers that run on the machine of this server. Finding none is nothing to tell. */
export function LocalModels({ known }: { known: readonly ProfileInfo[] }) {
  const { quiet } = useApp()
  const { value: servers = [] } = useLoad(signal => quiet.localModels({ signal }))
  const isNew = (url: string) => (model: string) =>
    !known.some(profile => profile.model === model && profile.base_url === url)
  const offers = servers
    .map(server => ({ ...server, models: server.models.filter(isNew(server.base_url)).slice(0, SHOWN) }))
    .filter(({ models }) => models.length > 0)
  if (offers.length === 0) return null
  return (
    <div class="group stack">
      <h3>{t('Found on this machine')}</h3>
      {offers.map(({ name, base_url, models }) => (
        <div key={base_url} class="stack">
          <p>
            {name} <code class="quiet">{base_url}</code>
          </p>
          <div class="row">
            {models.map(model => (
              <a key={model} class="button" href={hrefTo(['settings', 'models'], { add: '1', model, base_url })}>
                {t('Use {model}', { model })}
              </a>
            ))}
          </div>
        </div>
      ))}
    </div>
  )
}
