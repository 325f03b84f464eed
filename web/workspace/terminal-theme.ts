import type { ITheme } from '@xterm/xterm'

/** The grounds and accents are those of web/style/style.css: a terminal cannot read its colours from there. */
const LIGHT: ITheme = {
  background: '#ffffff',
  foreground: '#23262a',
  cursor: '#a84a18',
  cursorAccent: '#ffffff',
  selectionBackground: '#f0d9c9',
  black: '#23262a',
  red: '#b3261e',
  green: '#277045',
  yellow: '#8a6100',
  blue: '#1f5fae',
  magenta: '#8a3ab0',
  cyan: '#0f6f7c',
  white: '#5f646a',
  brightBlack: '#5f646a',
  brightRed: '#c9352c',
  brightGreen: '#2f8553',
  brightYellow: '#94500c',
  brightBlue: '#2a6fc4',
  brightMagenta: '#9a4ac0',
  brightCyan: '#127f8e',
  brightWhite: '#23262a',
}

const DARK: ITheme = {
  background: '#1d2024',
  foreground: '#e3e1dc',
  cursor: '#e9935c',
  cursorAccent: '#1d2024',
  selectionBackground: '#4a3a2f',
  black: '#32363c',
  red: '#f2857c',
  green: '#6cc08b',
  yellow: '#e0b34d',
  blue: '#8db9f2',
  magenta: '#d59cf0',
  cyan: '#7fc8d3',
  white: '#e3e1dc',
  brightBlack: '#a2a6ac',
  brightRed: '#ff9d95',
  brightGreen: '#86d6a3',
  brightYellow: '#f0c768',
  brightBlue: '#a8cbf8',
  brightMagenta: '#e2b6f7',
  brightCyan: '#9adbe4',
  brightWhite: '#ffffff',
}

const SYSTEM = window.matchMedia('(prefers-color-scheme: dark)')

export const themeOf = (theme: 'system' | 'light' | 'dark'): ITheme =>
  theme === 'dark' || (theme === 'system' && SYSTEM.matches) ? DARK : LIGHT

/** Calls back when the system changes its mind; the answer stops that. */
export function watchSystemTheme(changed: () => void): () => void {
  SYSTEM.addEventListener('change', changed)
  return () => SYSTEM.removeEventListener('change', changed)
}
