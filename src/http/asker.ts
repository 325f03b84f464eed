import type { Asker } from '../sandbox/sandboxes.ts'
import type { Call } from './server.ts'

/** Who asks, and under which name they reach us. `portsDomain` is that of the sites of opened ports. */
export function askerOf({ standing, incoming }: Call, portsDomain = 'localhost'): Asker {
  const host = incoming.headers.host ?? 'localhost'
  const secure = incoming.headers['x-forwarded-proto'] === 'https'
  const port = /:\d+$/.exec(host)?.[0] ?? ''
  return {
    trusted: standing === 'key',
    origin: `${secure ? 'https' : 'http'}://${host}`,
    portsHost: `${portsDomain}${port}`,
  }
}
