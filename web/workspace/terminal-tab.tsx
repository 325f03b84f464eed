import { useEffect, useRef, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Loading, Problem } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { openTerminal, type TerminalLink } from './terminal-link.ts'
import type { Screen } from './terminal-screen.ts'
import { themeOf, watchSystemTheme } from './terminal-theme.ts'

/** What a touch keyboard lacks. */
const KEYS = [
  ['Esc', '\x1b'],
  ['Tab', '\t'],
  ['Ctrl+C', '\x03'],
  ['Ctrl+D', '\x04'],
  ['↑', '\x1b[A'],
  ['↓', '\x1b[B'],
] as const

/** A shell in the sandbox of the conversation. It stays while another tab is shown. */
export function TerminalTab({ conversation, shown }: { conversation: string; shown: boolean }) {
  const { preferences } = useApp()
  const theme = preferences.theme.value
  const room = useRef<HTMLDivElement>(null)
  const screen = useRef<Screen | undefined>(undefined)
  const link = useRef<TerminalLink | undefined>(undefined)
  const [loaded, setLoaded] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const [ended, setEnded] = useState<string>()

  const connect = () => {
    const { current: opened } = screen
    if (!opened) return
    setEnded(undefined)
    link.current?.close()
    opened.clear()
    opened.fit()
    link.current = openTerminal(conversation, opened.size, { onOutput: opened.write, onEnd: setEnded })
    opened.focus()
  }
  const load = async (isWanted: () => boolean) => {
    setProblem(undefined)
    try {
      const [{ openScreen }] = await Promise.all([import('./terminal-screen.ts'), sheetLoaded()])
      if (!isWanted() || !room.current) return
      screen.current = openScreen(room.current, themeOf(preferences.theme.peek()), {
        onType: text => link.current?.type(text),
        onResize: size => link.current?.resize(size),
      })
      setLoaded(true)
      connect()
    } catch (error) {
      setProblem(error)
    }
  }
  useEffect(() => {
    let wanted = true
    load(() => wanted)
    return () => {
      wanted = false
      link.current?.close()
      screen.current?.close()
    }
  }, [])
  useEffect(() => {
    const apply = () => screen.current?.setTheme(themeOf(theme))
    apply()
    return watchSystemTheme(apply)
  }, [theme])
  useEffect(() => {
    if (shown) screen.current?.focus()
  }, [shown])

  return (
    <div class="terminal-tab" hidden={!shown}>
      {!loaded && problem === undefined && <Loading />}
      <Problem error={problem} again={() => load(() => true)} />
      {ended !== undefined && (
        <p class="terminal-ended" role="status">
          {ended}
          <button type="button" class="primary" onClick={connect}>
            {t('Open a new one')}
          </button>
        </p>
      )}
      <div class="terminal-room" ref={room} />
      <fieldset class="terminal-keys" aria-label={t('Keys')}>
        {KEYS.map(([label, keys]) => (
          <button
            key={label}
            type="button"
            onClick={() => {
              link.current?.type(keys)
              screen.current?.focus()
            }}
          >
            {label}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

/** The terminal's own sheet, once for the page. Cells are measured with it. */
function sheetLoaded(): Promise<unknown> {
  const href = 'web/terminal.css'
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve()
  const sheet = document.createElement('link')
  sheet.rel = 'stylesheet'
  sheet.href = href
  const loaded = new Promise((resolve, reject) => {
    sheet.onload = resolve
    sheet.onerror = () => {
      sheet.remove()
      reject(new Error(t('The terminal could not be loaded.')))
    }
  })
  document.head.append(sheet)
  return loaded
}
