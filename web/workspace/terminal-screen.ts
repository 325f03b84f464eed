import { FitAddon } from '@xterm/addon-fit'
import { type ITheme, Terminal } from '@xterm/xterm'
import { t } from '../words.ts'
import type { Size } from './terminal-link.ts'
import { allowStyles } from './terminal-styles.ts'

const FONT_SIZE = 13
/** Lines that can be scrolled back to. */
const HISTORY = 5000
/** As WCAG AA asks for, whatever colours a program chooses. */
const CONTRAST = 4.5

export interface Screen {
  readonly size: Size
  write(text: string): void
  clear(): void
  focus(): void
  /** To the room there is; nothing while it is hidden. */
  fit(): void
  setTheme(theme: ITheme): void
  close(): void
}

export interface ScreenEvents {
  onType: (text: string) => void
  onResize: (size: Size) => void
}

/** The emulator in this element. Loaded when the first terminal is opened. */
export function openScreen(element: HTMLElement, theme: ITheme, { onType, onResize }: ScreenEvents): Screen {
  const forbidStyles = allowStyles()
  const terminal = new Terminal({
    allowProposedApi: false,
    cursorBlink: !window.matchMedia('(prefers-reduced-motion: reduce)').matches,
    fontFamily: getComputedStyle(element).fontFamily,
    fontSize: FONT_SIZE,
    lineHeight: 1.2,
    minimumContrastRatio: CONTRAST,
    screenReaderMode: true,
    scrollback: HISTORY,
    theme,
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(element)
  terminal.textarea?.setAttribute('aria-label', t('Terminal input. Escape, then Tab, leaves it.'))
  terminal.attachCustomKeyEventHandler(keysForTheBrowser(() => terminal.hasSelection()))
  terminal.onData(onType)
  terminal.onResize(({ cols: columns, rows }) => onResize({ columns, rows }))
  const watcher = new ResizeObserver(() => element.clientWidth > 0 && fit.fit())
  watcher.observe(element)
  return {
    get size() {
      return { columns: terminal.cols, rows: terminal.rows }
    },
    write: text => terminal.write(text),
    clear: () => terminal.reset(),
    focus: () => terminal.focus(),
    fit: () => element.clientWidth > 0 && fit.fit(),
    setTheme(next) {
      terminal.options.theme = next
    },
    close() {
      watcher.disconnect()
      terminal.dispose()
      forbidStyles()
    },
  }
}

/** Answers false for what the browser is to do: leaving after Escape, pasting, and copying what is selected. */
function keysForTheBrowser(hasSelection: () => boolean): (event: KeyboardEvent) => boolean {
  let leaving = false
  return ({ type, key, ctrlKey, metaKey, altKey }) => {
    if (type !== 'keydown') return true
    const leaves = key === 'Tab' && leaving
    if (key !== 'Shift') leaving = key === 'Escape'
    const chord = (ctrlKey || metaKey) && !altKey ? key.toLowerCase() : ''
    return !leaves && chord !== 'v' && !(chord === 'c' && hasSelection())
  }
}
