import { asUser, entering, ownNamespace, toMapRoot } from './enter.ts'
import type { Mount, User } from './view.ts'
import { type Holder, NAMESPACE_FD, type Plan, type Walls } from './walls.ts'

/**
 * The same view where bubblewrap is missing, by the programs every Linux has. It comes without the kernel's filter: nothing among
 * them sets one everywhere.
 *
 * The first shell is in the new namespaces, with rights there: it puts the view together below a folder, makes that the root, and
 * becomes the first process. Its arguments are, three for each mount, kind, source and target, and then `--` and what to become.
 */
const BUILD = `set -e
mount --make-rprivate /
top=$1; shift
mount -t tmpfs -o mode=755,nosuid,nodev none "$top"
root=$top/root
mkdir "$root"
flags() { findmnt -no VFS-OPTIONS -T "$1" | tr , '\\n' | grep -E '^(ro|nosuid|nodev|noexec|noatime|nodiratime|relatime)$' | tr '\\n' ,; }
while [ "$1" != -- ]; do
  kind=$1 source=$2 target=$root$3
  [ "$3" = / ] && target=$root
  shift 3
  case $kind in
    bind | read-only)
      mount --rbind "$source" "$target"
      mount --make-rprivate "$target"
      findmnt -rno TARGET -R "$target" | while read -r each; do
        each=$(printf %b "$each")
        options=nosuid,nodev,$(flags "$each")
        if [ "$kind" = bind ]; then mount -o "remount,bind,$options" "$each" 2>/dev/null || :
        else mount -o "remount,bind,ro,$options" "$each" 2>/dev/null || mount -o remount,bind,ro "$each"; fi
      done ;;
    proc) mount -t proc -o nosuid,nodev,noexec proc "$target" ;;
    tmpfs) mount -t tmpfs -o mode=1777,nosuid,nodev none "$target" ;;
    dev)
      mount -t tmpfs -o mode=755,nosuid none "$target"
      for device in null zero full random urandom tty; do
        : > "$target/$device"; mount --bind "/dev/$device" "$target/$device"
      done
      mkdir "$target/pts" "$target/shm"
      mount -t devpts -o newinstance,ptmxmode=0666,mode=620,nosuid,noexec none "$target/pts"
      chmod 1777 "$target/shm"
      ln -s pts/ptmx "$target/ptmx"; ln -s /proc/self/fd "$target/fd"
      ln -s /proc/self/fd/0 "$target/stdin"; ln -s /proc/self/fd/1 "$target/stdout"; ln -s /proc/self/fd/2 "$target/stderr" ;;
  esac
done
shift
hostname sandbox 2>/dev/null || echo sandbox > /proc/sys/kernel/hostname
ip link set lo up 2>/dev/null || ifconfig lo up
cd "$root"
pivot_root . .
umount -l .
cd /
exec "$@"`

export const utilLinux: Walls = {
  name: 'util-linux',
  leading: 1,

  build({ mounts, user, privileged, init, spot }: Plan): string[] {
    const namespaces = ['--mount', '--pid', '--net', '--ipc', '--uts', '--fork']
    const rights = privileged ? [] : ['--user', '--map-root-user']
    const view = mounts.flatMap((mount: Mount) => [mount.kind, 'source' in mount ? mount.source : '', mount.target])
    const drop = privileged ? [...asUser(user, toMapRoot(user)), ...ownNamespace(user)] : ownNamespace(user)
    const words = [...view, '--', ...drop, ...init]
    return ['unshare', ...rights, ...namespaces, '/bin/sh', '-c', BUILD, 'sh', spot, ...words]
  },

  enter(holder: Holder, user: User, privileged: boolean): string[] {
    const own = ['nsenter', `--user=/proc/self/fd/${NAMESPACE_FD}`, '--preserve-credentials', '--']
    return [
      ...entering(holder, user, privileged),
      ...own,
      'setpriv',
      '--no-new-privs',
      '--bounding-set=-all',
      '--inh-caps=-all',
      '--',
    ]
  },
}
