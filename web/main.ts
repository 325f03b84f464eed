import { conversationView, type View } from './conversation.ts'
import { conversationList } from './conversations.ts'
import { byId } from './dom.ts'
import { type Api, call, signedIn, wordsOf } from './http.ts'
import { settingsView } from './settings.ts'
import { keyPrompt, signInWithToken } from './sign-in.ts'
import { startView } from './start.ts'

const REFRESH_MS = 15_000

interface ServerInfo {
  version?: string
  gantry_version?: string
  uptime?: number
}

function span(seconds: number): string {
  const units: [number, string][] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
  ]
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

async function showServer(): Promise<void> {
  const element = byId('server')
  try {
    const { gantry_version: own, version, uptime = 0 } = await call<ServerInfo>('GET', 'server_info')
    element.textContent = `${own ?? version ?? ''} · up ${span(uptime)}`
  } catch (error) {
    element.textContent = wordsOf(error)
  }
}

/** Takes the one-time token of a sign-in link out of the address, then uses it. */
async function useSignInLink(askForKey: (why: string) => Promise<boolean>): Promise<void> {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1]
  if (!token) return
  history.replaceState(null, '', `${location.pathname}${location.search}`)
  const good = await signInWithToken(decodeURIComponent(token)).catch(() => false)
  if (!good) await askForKey('This sign-in link was used before or has expired. The session key works too.')
}

async function start(): Promise<void> {
  const askForKey = keyPrompt()
  const api: Api = signedIn(askForKey)
  const main = byId('main')
  const list = conversationList(api)
  let view: View | undefined

  function viewOf(route: string): View {
    const still = (element: HTMLElement): View => ({ element, close: () => undefined })
    const id = /^c\/([\w-]+)$/.exec(route)?.[1]
    if (id) {
      return conversationView(api, id, {
        onChange: () => list.refresh(),
        onDeleted() {
          location.hash = '#/'
          list.refresh()
        },
      })
    }
    if (route === 'settings') return still(settingsView(api))
    return still(
      startView(api, list.newest(), started => {
        location.hash = `#/c/${started}`
        list.refresh()
      }),
    )
  }

  async function show(): Promise<void> {
    await useSignInLink(askForKey)
    if (location.hash && !location.hash.startsWith('#/')) return
    const route = location.hash.slice(2)
    view?.close()
    document.title = 'Gantry'
    document.body.dataset.view = route === '' ? 'list' : 'detail'
    list.select(/^c\/(.+)$/.exec(route)?.[1])
    view = viewOf(route)
    main.replaceChildren(view.element)
  }

  /** In the background nobody is asked for a key. */
  async function refresh(): Promise<void> {
    if (document.visibilityState === 'visible') await Promise.all([showServer(), list.refresh(call)])
  }

  byId('sidebar').append(list.element)
  await useSignInLink(askForKey)
  await Promise.all([showServer(), list.refresh()])
  await show()
  window.addEventListener('hashchange', async () => {
    await show()
    main.focus()
  })
  document.addEventListener('visibilitychange', refresh)
  setInterval(refresh, REFRESH_MS)
}

start()
