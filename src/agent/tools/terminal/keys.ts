const NAMED: Readonly<Record<string, string>> = {
  ENTER: '\r',
  TAB: '\t',
  ESC: '\x1b',
  BS: '\x7f',
  UP: '\x1b[A',
  DOWN: '\x1b[B',
  RIGHT: '\x1b[C',
  LEFT: '\x1b[D',
}

export const INTERRUPT = '\x03'

/** What a keyboard would send: for the name of a key that key, for anything else the text, and the enter key unless it ends with that. */
export function keysFor(input: string): string {
  const control = /^C-([a-zA-Z\\\]])$/.exec(input)?.[1]
  if (control) return String.fromCharCode(control.toUpperCase().charCodeAt(0) & 0x1f)
  return NAMED[input] ?? `${input.replace(/\r?\n$/, '').replaceAll(/\r?\n/g, '\r')}\r`
}
