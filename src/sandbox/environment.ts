const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** What every command finds in its environment before anybody asked for more. Nothing is inherited from the server. */
export function baseEnv({ home, terminal }: { home: string; terminal: boolean }): Record<string, string> {
  return {
    PATH: `${home}/.local/bin:${PATH}`,
    HOME: home,
    USER: 'gantry',
    LOGNAME: 'gantry',
    LANG: 'C.UTF-8',
    TERM: terminal ? 'xterm-256color' : 'dumb',
  }
}
