import type { Asker } from '../sandbox/sandboxes.ts'
import type { Call } from './server.ts'

/** The published Python client compares the address it was given with what its HTTP library makes of it. */
const PATHLESS = /^python-httpx\//

/** Who asks, and under which name they reach us. `portsDomain` is that of the sites of opened ports. */
export function askerOf({ standing, incoming }: Call, portsDomain = 'localhost'): Asker {
  const host = incoming.headers.host ?? 'localhost'
  const secure = incoming.headers['x-forwarded-proto'] === 'https'
  const port = /:\d+$/.exec(host)?.[0] ?? ''
  return {
    trusted: standing === 'key',
    origin: `${secure ? 'https' : 'http'}://${host}`,
    portsHost: `${portsDomain}${port}`,
    pathless: PATHLESS.test(incoming.headers['user-agent'] ?? ''),
  }
}
