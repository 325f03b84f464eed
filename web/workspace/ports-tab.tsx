import { useEffect, useState } from 'preact/hooks'
import type { SandboxPort } from '../../src/api/sandboxes.ts'
import { useApp } from '../app.ts'
import { Icon } from '../ui/icon.tsx'
import { ActionButton, copyText, Empty, Field, Form, Loading, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { plural, t } from '../words.ts'
import type { Place } from './place.ts'

interface Site extends SandboxPort {
  url: string
}

export interface PortsTabProps {
  place: Place
  /** Whenever it changes, the agent may have started something. */
  runs: number
}

/** What listens in the sandbox, each with the address under which a browser reaches it. */
export function PortsTab({ place, runs }: PortsTabProps) {
  const { api } = useApp()
  const [typed, setTyped] = useState<Site>()
  const [port, setPort] = useState('')
  const siteOf = async (listener: SandboxPort): Promise<Site> => {
    const params = { sandbox_id: place.sandbox, port: listener.port }
    return { ...listener, ...(await api.openSandboxPort({ params })) }
  }
  const { value, problem, loading, again } = useLoad(
    async signal => {
      const found = await api.listSandboxPorts({ params: { sandbox_id: place.sandbox }, signal })
      return Promise.all(found.map(siteOf))
    },
    [place],
  )
  useEffect(() => {
    if (!loading) again()
  }, [runs])
  return (
    <div class="ports">
      <div class="workspace-bar">
        <span class="ports-count" role="status">
          {value && value.length > 0 && plural(value.length, '{n} port listens', '{n} ports listen')}
        </span>
        <ActionButton class="icon" icon="refresh" label={t('Refresh')} action={again} />
      </div>
      <Problem error={problem} again={again} />
      {!value && problem === undefined && <Loading />}
      {value && value.length > 0 && (
        <ul class="ports-list">
          {value.map(site => (
            <PortRow key={site.port} site={site} />
          ))}
        </ul>
      )}
      {value?.length === 0 && (
        <Empty icon="globe" title={t('Nothing listens in the sandbox.')}>
          <p>{t('When the agent starts a web server, it can be opened from here.')}</p>
        </Empty>
      )}
      <Form
        class="ports-form"
        label={t('Another port')}
        onSend={async () => setTyped(await siteOf({ port: Number(port), program: null }))}
      >
        <Field label={t('Another port')} hint={t('Whoever has the address of a port can open it, without the key.')}>
          {ids => (
            <div class="ports-entry">
              <input
                {...ids}
                type="number"
                min="1"
                max="65535"
                required
                placeholder="3000"
                value={port}
                onInput={event => setPort(event.currentTarget.value)}
              />
              <button type="submit">{t('Get its address')}</button>
            </div>
          )}
        </Field>
      </Form>
      {typed && (
        <ul class="ports-list" aria-live="polite">
          <PortRow site={typed} />
        </ul>
      )}
    </div>
  )
}

function PortRow({ site: { port, program, url } }: { site: Site }) {
  const { toasts } = useApp()
  const copy = () => copyText(url).then(() => toasts.say(t('The address is copied.')))
  return (
    <li class="ports-row">
      <strong>{port}</strong>
      <span class="quiet">{program}</span>
      <a
        class="button"
        href={url}
        target="_blank"
        rel="noopener noreferrer"
        aria-label={t('Open port {port}', { port })}
      >
        <Icon name="external" />
        {t('Open')}
      </a>
      <ActionButton class="icon" icon="copy" label={t('Copy the address of port {port}', { port })} action={copy} />
    </li>
  )
}
