export type Level = 'debug' | 'info' | 'warn' | 'error'
type Fields = Record<string, unknown>

const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** One line per fact. */
export interface Log {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
}

export function makeLog(level: Level, write: (line: string) => void): Log {
  const at =
    (own: Level) =>
    (message: string, fields: Fields = {}): void => {
      if (RANK[own] < RANK[level]) return
      write(JSON.stringify({ time: new Date().toISOString(), level: own, message, ...fields }))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
