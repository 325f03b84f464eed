import { type ReadonlySignal, signal } from '@preact/signals'
import type { Api } from './api.ts'

type Info = Awaited<ReturnType<Api['serverInfo']>>

/** Asked again this often, so that a server that went away or came back is noticed on every view. */
const REFRESH_MS = 5000

export interface ServerState {
  readonly info: ReadonlySignal<Info | undefined>
  readonly online: ReadonlySignal<boolean>
  refresh(): Promise<void>
}

export function watchServer(quiet: Api): ServerState {
  const info = signal<Info>()
  const online = signal(true)
  const refresh = async () => {
    try {
      info.value = await quiet.serverInfo()
      online.value = true
    } catch {
      online.value = false
    }
  }
  const whenSeen = () => document.visibilityState === 'visible' && refresh()
  setInterval(whenSeen, REFRESH_MS)
  document.addEventListener('visibilitychange', whenSeen)
  window.addEventListener('online', refresh)
  window.addEventListener('offline', () => {
    online.value = false
  })
  refresh()
  return { info, online, refresh }
}
