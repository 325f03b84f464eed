import type { User } from './view.ts'
import type { Holder } from './walls.ts'

/** Into all namespaces but the innermost user namespace. */
export function entering({ outer, init }: Holder, { uid, gid }: User, privileged: boolean): string[] {
  const nsenter = ['nsenter', `--target=${init}`, '--mount', '--pid', '--net', '--ipc', '--uts']
  if (!privileged) return [...nsenter, `--user=/proc/${outer}/ns/user`, '--preserve-credentials']
  return [...nsenter, `--setuid=${uid}`, `--setgid=${gid}`, ...(uid === 0 ? asUser({ uid, gid }) : [])]
}

/** Root gives up everything that makes it root, for good. `keep`: but for this capability, if it is to stay root by name. */
export const asUser = ({ uid, gid }: User, keep?: string): string[] => {
  const rights = ['--inh-caps=-all', `--bounding-set=-all${keep ? `,+${keep}` : ''}`, '--no-new-privs']
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...rights]
}

/** What the kernel wants of whoever makes a namespace in which root is root. It is gone with the first program in there. */
export const toMapRoot = ({ uid }: User): 'setfcap' | undefined => (uid === 0 ? 'setfcap' : undefined)

/**
 * In which the user is itself and nobody has a capability over anything outside. The first process keeps those it has inside, which
 * are good for nothing there, because commands have none: so they can neither trace it, for it is not filtered, nor see what it has
 * open. Nobody inside gets capabilities by making a namespace of their own: in it nothing would be mounted on mount points, and they
 * could be swapped.
 */
export const ownNamespace = ({ uid, gid }: User): string[] => [
  ...['unshare', '--user', '--keep-caps', `--map-user=${uid}`, `--map-group=${gid}`],
  ...['/bin/sh', '-c', '{ echo 0 >/proc/sys/user/max_user_namespaces; } 2>/dev/null; exec "$@"', 'sh'],
]
