import { effect, type Signal, signal } from '@preact/signals'

/** What this browser remembers. */
export interface Preferences {
  theme: Signal<'system' | 'light' | 'dark'>
  language: Signal<string>
  /** Whether a pending action may be told by a notification of the system, and by a sound. */
  notify: Signal<boolean>
  sound: Signal<boolean>
  /** Whether the workspace is open beside a conversation. */
  workspace: Signal<boolean>
  /** How much of the width it takes, in percent. */
  share: Signal<number>
}

const defaults = { theme: 'system', language: 'en', notify: false, sound: false, workspace: true, share: 45 } as const

export function loadPreferences(): Preferences {
  const remembered = <T>(name: string, fallback: T): Signal<T> => {
    const key = `gantry.${name}`
    const kept = signal<T>(read(key, fallback))
    effect(() => localStorage.setItem(key, JSON.stringify(kept.value)))
    return kept
  }
  const entries = Object.entries(defaults).map(([name, fallback]) => [name, remembered<unknown>(name, fallback)])
  const preferences = Object.fromEntries(entries) as unknown as Preferences
  effect(() => {
    const theme = preferences.theme.value
    document.documentElement.style.colorScheme = theme === 'system' ? '' : theme
    document.documentElement.dataset.theme = theme
  })
  return preferences
}

function read<T>(key: string, fallback: T): T {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? 'null')
    return typeof value === typeof fallback ? value : fallback
  } catch {
    return fallback
  }
}
