import type { Signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Apis } from './api.ts'
import type { Conversations } from './conversations/conversations.ts'
import type { Preferences } from './preferences.ts'
import type { Router } from './route.ts'
import type { ServerState } from './server-state.ts'
import type { Toasts } from './ui/toasts.tsx'

/** What every view may use. Made once, in main.tsx. */
export interface App extends Apis, Router {
  /** The list at the side, kept fresh. */
  conversations: Conversations
  /** What kind of server this is, and whether it answers. */
  server: ServerState
  preferences: Preferences
  toasts: Toasts
  /** Of what is shown, for the tab. */
  title: Signal<string>
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('There is no app around this view')
  return app
}
