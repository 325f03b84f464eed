import { useEffect, useRef } from 'preact/hooks'
import { useApp } from './app.ts'
import { ConversationView } from './conversation/conversation-view.tsx'
import { Sidebar } from './conversations/sidebar.tsx'
import { lazy } from './lazy.tsx'
import { hrefTo } from './route.ts'
import { StartView } from './start/start-view.tsx'
import { Icon } from './ui/icon.tsx'
import { Empty } from './ui/kit.tsx'
import { t } from './words.ts'

const SandboxesView = lazy(() => import('./sandboxes/sandboxes-view.tsx').then(module => module.SandboxesView))
const SettingsView = lazy(() => import('./settings/settings-view.tsx').then(module => module.SettingsView))

/** Of the tab; a conversation has its own. */
const TITLES: Record<string, string> = { new: 'New conversation', sandboxes: 'Sandboxes', settings: 'Settings' }

/** The list at the side, and beside it what the address names. On a phone one of both. */
export function Shell() {
  const { route, server, title } = useApp()
  const { path } = route.value
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  const place = path.slice(0, 2).join('/')
  useEffect(() => {
    if (path[0] !== 'c') title.value = t(TITLES[path[0] ?? ''] ?? '')
    if (!first.current) main.current?.focus()
    first.current = false
  }, [place])
  return (
    <div class="shell" data-place={path.length === 0 ? 'home' : 'detail'}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {t('Skip to the content')}
      </button>
      <nav class="side" aria-label={t('Conversations')}>
        <a class="brand" href={hrefTo([])}>
          <img src="web/icon.svg" alt="" width="24" height="24" />
          Gantry
        </a>
        <Sidebar />
        <div class="side-foot">
          <SideLink to="sandboxes" label={t('Sandboxes')} icon="folder" />
          <SideLink to="settings" label={t('Settings')} icon="gear" />
          <a href="docs" class="side-link">
            <Icon name="external" />
            {t('API')}
          </a>
        </div>
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        {!server.online.value && (
          <p class="offline" role="status">
            <Icon name="warning" />{' '}
            {t('The server does not answer. What you see is kept, and goes on by itself when it is back.')}
          </p>
        )}
        <Outlet path={path} />
      </main>
    </div>
  )
}

function SideLink({ to, label, icon }: { to: string; label: string; icon: 'folder' | 'gear' }) {
  const { route } = useApp()
  const here = route.value.path[0] === to
  return (
    <a href={hrefTo([to])} class="side-link" aria-current={here ? 'page' : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  )
}

function Outlet({ path }: { path: readonly string[] }) {
  const [place, name] = path
  switch (place) {
    case undefined:
    case 'new':
      return <StartView />
    case 'c':
      return name ? <ConversationView key={name} id={name} /> : <Nowhere />
    case 'sandboxes':
      return <SandboxesView />
    case 'settings':
      return <SettingsView section={name ?? 'models'} />
    default:
      return <Nowhere />
  }
}

const Nowhere = () => (
  <Empty icon="search" title={t('There is nothing at this address.')}>
    <a href={hrefTo([])}>{t('To the start')}</a>
  </Empty>
)
