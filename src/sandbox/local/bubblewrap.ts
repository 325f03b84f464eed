import { asUser, entering, ownNamespace, toMapRoot } from './enter.ts'
import type { Mount, User } from './view.ts'
import { FILTER_FD, type Holder, NAMESPACE_FD, type Plan, type Walls } from './walls.ts'

const OPTIONS = { bind: '--bind', 'read-only': '--ro-bind', proc: '--proc', dev: '--dev', tmpfs: '--tmpfs' } as const
/** Anybody may make sockets and process files there, and nobody remove another's. */
const OPEN = ['--perms', '1777']

/** What bubblewrap keeps so that the first process can still give up the rest by itself. */
const TO_DROP_RIGHTS = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP', 'CAP_SETFCAP'].flatMap(name => ['--cap-add', name])

export const bubblewrap: Walls = {
  name: 'bubblewrap',
  leading: 2,

  build({ mounts, user, privileged, init }: Plan): string[] {
    const view = mounts.flatMap((mount: Mount) =>
      'source' in mount
        ? [OPTIONS[mount.kind], mount.source, mount.target]
        : [
            ...(mount.kind === 'tmpfs' ? OPEN : []),
            OPTIONS[mount.kind],
            mount.target,
            ...(mount.kind === 'dev' ? [...OPEN, '--tmpfs', `${mount.target}/shm`] : []),
          ],
    )
    const bwrap = ['bwrap', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
    const options = [...bwrap, '--hostname', 'sandbox', '--as-pid-1', '--new-session', ...view, '--chdir', '/']
    return privileged
      ? [
          ...options,
          '--cap-drop',
          'ALL',
          ...TO_DROP_RIGHTS,
          '--',
          ...asUser(user, toMapRoot(user)),
          ...ownNamespace(user),
          ...init,
        ]
      : ['unshare', '--user', '--map-root-user', ...options, '--', ...ownNamespace(user), ...init]
  },

  enter(holder: Holder, user: User, privileged: boolean, filtered: boolean): string[] {
    const inside = ['bwrap', '--userns', `${NAMESPACE_FD}`, '--uid', `${user.uid}`, '--gid', `${user.gid}`]
    const filter = filtered ? ['--seccomp', `${FILTER_FD}`] : []
    return [
      ...entering(holder, user, privileged),
      ...inside,
      '--dev-bind',
      '/',
      '/',
      '--cap-drop',
      'ALL',
      ...filter,
      '--',
    ]
  },
}
