import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { chown, lstat, mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fault } from '../../api/errors.ts'
import type { Grant } from '../sandbox.ts'

/** What a sandbox sees of the machine, as mounts in the order they are made. Every target is a folder or file that exists. */
export type Mount =
  | { kind: 'bind' | 'read-only'; source: string; target: string }
  | { kind: 'proc' | 'dev' | 'tmpfs'; target: string }

export interface User {
  uid: number
  gid: number
}

/** Gives a path to the user that commands run as. */
export type Own = (path: string) => Promise<void>

export const HOME = '/home/gantry'

/** Programs and libraries; a link at the top of the host becomes a mount, which cannot be swapped for something else from inside. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Mount points at the top of every sandbox. While it runs they are mounts, so they are still these folders the next time. */
const POINTS = [...SYSTEM, '/etc', '/proc', '/dev', '/run']
/** Its own, and a mount point as well: without it bubblewrap finds no way in, and so nobody could put it back. */
const TMP = '/tmp'
const FOLDERS = [
  '/home',
  HOME,
  '/workspace',
  '/opt',
  '/srv',
  TMP,
  '/var',
  '/var/lib',
  '/var/cache',
  '/var/log',
  '/var/tmp',
]

/** Of the host's `/etc` what programs look for and what says nothing about its people. */
// biome-ignore format: a list to be read as words
const ETC = [
  'alternatives', 'ssl', 'pki', 'ca-certificates', 'ca-certificates.conf', 'crypto-policies', 'ld.so.cache', 'ld.so.conf',
  'ld.so.conf.d', 'localtime', 'timezone', 'protocols', 'services', 'rpc', 'mime.types', 'magic', 'inputrc', 'terminfo',
  'debian_version', 'alpine-release', 'redhat-release', 'os-release', 'lsb-release', 'fonts', 'shells', 'perl', 'python3',
  'python3.11', 'python3.12', 'python3.13', 'java-17-openjdk', 'java-21-openjdk', 'ImageMagick-6', 'bash.bashrc',
]

/** Of `/proc` what the host's root account could change even without a capability; the first also anybody in part. */
const FIXED = ['/proc/sys', '/proc/bus', '/proc/fs', '/proc/irq', '/proc/acpi', '/proc/scsi']

/** Of each user namespace its own, and to be set by its owner only: with it the first process forbids all further ones. */
const NAMESPACE_LIMITS = '/proc/sys/user'

/** Of `/proc` what would let an owner of the host's root account reach the kernel, or anybody look into it. */
const HIDDEN = ['/proc/sysrq-trigger', '/proc/keys', '/proc/key-users', '/proc/kcore', '/proc/timer_list', '/proc/kmsg']

/** The part of the view that all sandboxes of a server share. `etc` is a folder of the server's that becomes `/etc`. */
export function systemView(etc: string, user: User): Mount[] {
  const files = {
    passwd: `${account('gantry', user.uid, user.gid)}${user.uid === 0 ? '' : account('root', 0, 0)}${account('nobody', 65534, 65534)}`,
    group: `gantry:x:${user.gid}:\n${user.gid === 0 ? '' : 'root:x:0:\n'}nogroup:x:65534:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
    hostname: 'sandbox\n',
    'resolv.conf': '# Names are resolved by the proxy.\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  }
  folder(etc)
  for (const [name, content] of Object.entries(files)) file(join(etc, name), Buffer.from(content))
  const mounts: Mount[] = []
  const readOnly = (source: string, target = source) => mounts.push({ kind: 'read-only', source, target })
  for (const folder of SYSTEM) if (exists(folder)) readOnly(folder)
  readOnly(etc, '/etc')
  for (const name of ETC) if (mirror(join('/etc', name), join(etc, name))) readOnly(join('/etc', name))
  mounts.push({ kind: 'proc', target: '/proc' })
  // Every mount makes every command a little slower: what an ordinary user cannot change anyway needs none.
  for (const path of user.uid === 0 ? FIXED : FIXED.slice(0, 1)) if (exists(path)) readOnly(path)
  if (exists(NAMESPACE_LIMITS)) mounts.push({ kind: 'bind', source: NAMESPACE_LIMITS, target: NAMESPACE_LIMITS })
  for (const path of HIDDEN) if (isLegible(path, user)) readOnly('/dev/null', path)
  mounts.push({ kind: 'dev', target: '/dev' }, { kind: 'tmpfs', target: '/run' })
  return mounts
}

/** Of what is copied, the most entries in a folder: a larger one is mounted. */
const COPIED = 20

/** Copies one entry of the host's; true when it is a folder that should be mounted instead, for which a place is made. */
function mirror(source: string, spot: string): boolean {
  const there = lstatSync(source, { throwIfNoEntry: false })
  const own = lstatSync(spot, { throwIfNoEntry: false })
  if (own && kindOf(own) !== kindOf(there)) rmSync(spot, { recursive: true, force: true })
  if (there?.isSymbolicLink()) link(spot, readlinkSync(source))
  else if (there?.isFile()) file(spot, readFileSync(source))
  else if (there?.isDirectory()) {
    folder(spot)
    if (!isSmall(source)) return true
    for (const name of readdirSync(source)) mirror(join(source, name), join(spot, name))
    for (const name of readdirSync(spot))
      if (!exists(join(source, name))) rmSync(join(spot, name), { recursive: true, force: true })
  }
  return false
}

function isSmall(source: string): boolean {
  try {
    return readdirSync(source, { recursive: true }).length <= COPIED
  } catch {
    // A part of it is not for everybody.
    return false
  }
}

/** Whether the user may read it, as far as its permissions tell. */
const isLegible = (path: string, { uid }: User): boolean =>
  uid === 0 ? exists(path) : ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o006) !== 0

/**
 * Makes the folder that becomes a sandbox's `/`, or finds that of its earlier lives. What is in the latter was left by strangers, links
 * to anywhere among it: nothing there is followed, and only mount points are put right. No process of it may be alive.
 *
 * Some fifty calls that take microseconds each: one after the other they are done before the first would come back from another thread.
 */
export function furnish(root: string, user: User | undefined): void {
  if (!lstatSync(root, { throwIfNoEntry: false })) {
    const fresh = `${root}.new`
    rmSync(fresh, { recursive: true, force: true })
    const make = (name: string, mode: number) => {
      const path = join(fresh, name)
      mkdirSync(path, { recursive: true })
      chmodSync(path, mode)
      return path
    }
    for (const point of POINTS) make(point, 0o755)
    for (const name of ['', ...FOLDERS]) {
      const path = make(name, name.endsWith('/tmp') ? 0o1777 : 0o755)
      if (user) chownSync(path, user.uid, user.gid)
    }
    renameSync(fresh, root)
  }
  for (const point of [...POINTS, TMP]) {
    const spot = join(root, point)
    if (lstatSync(spot, { throwIfNoEntry: false })?.isDirectory()) continue
    rmSync(spot, { force: true })
    mkdirSync(spot)
    chmodSync(spot, point === TMP ? 0o1777 : 0o755)
    if (user && point === TMP) chownSync(spot, user.uid, user.gid)
  }
}

/** All mounts of a sandbox. Makes mount points for what is granted, so no process of it may be alive. */
export async function viewOf(
  root: string,
  system: readonly Mount[],
  grants: readonly Grant[],
  own: Own,
): Promise<Mount[]> {
  const tmp: Mount = { kind: 'bind', source: join(root, TMP), target: TMP }
  const mounts: Mount[] = [{ kind: 'bind', source: root, target: '/' }, tmp, ...system]
  for (const grant of grants) mounts.push(...(await granted(root, grant, own)))
  return mounts
}

/** A folder that can be written is a mount point all the same: it cannot be moved away, with what is guarded in it, and made anew. */
const GUARDED = [
  ['', 'bind'],
  ['config', 'read-only'],
  ['config.worktree', 'read-only'],
  ['commondir', 'read-only'],
  ['hooks', 'read-only'],
  ['info', 'bind'],
  ['info/attributes', 'read-only'],
] as const

/**
 * A granted folder, at its own path. What git would execute, and what would tell it to, cannot be changed from inside: it would run
 * with the host's rights at the next `git status` there.
 */
async function granted(root: string, { path, readOnly }: Grant, own: Own): Promise<Mount[]> {
  // A folder around it may have been granted too, and from inside that a link be put on the way.
  if ((await realpath(path).catch(() => undefined)) !== path)
    throw fault('sandbox_failed', `${path} is no longer the folder that was granted`)
  await spotFor(root, path, own)
  const mounts: Mount[] = [{ kind: readOnly ? 'read-only' : 'bind', source: path, target: path }]
  if (readOnly) return mounts
  const git = join(path, '.git')
  const repository = await lstat(git).catch(() => undefined)
  // It says where the repository is.
  if (repository?.isFile()) mounts.push({ kind: 'read-only', source: git, target: git })
  if (!repository?.isDirectory()) return mounts
  // What is not there cannot be guarded, and would be made inside.
  const hooks = join(git, 'hooks')
  await mkdir(hooks).then(
    () => chown(hooks, repository.uid, repository.gid),
    () => undefined,
  )
  for (const [name, kind] of GUARDED) {
    const guarded = join(git, name)
    const [there, around] = await Promise.all(
      [guarded, dirname(guarded)].map(path => lstat(path).catch(() => undefined)),
    )
    if (there && !there.isSymbolicLink() && around?.isDirectory())
      mounts.push({ kind, source: guarded, target: guarded })
  }
  return mounts
}

/** Every step on the way is looked at: a link left by an earlier life must not lead the mount out of the sandbox. */
async function spotFor(root: string, path: string, own: Own): Promise<void> {
  if (dirname(path) !== '/') await spotFor(root, dirname(path), own)
  const spot = join(root, path)
  const there = await lstat(spot).catch(() => undefined)
  if (there?.isDirectory()) return
  if (there) throw fault('sandbox_failed', `The sandbox has something else where ${path} belongs`)
  folder(spot)
  await own(spot)
}

/** The server's own files are nobody else's (umask): what a sandbox is to see must say so. */
function folder(path: string): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, 0o755)
}

function file(path: string, content: Buffer): void {
  // What is right already needs no room on a disk that may be full.
  if (exists(path) && readFileSync(path).equals(content)) return
  writeFileSync(path, content)
  chmodSync(path, 0o644)
}

function link(path: string, target: string): void {
  if (exists(path)) {
    if (readlinkSync(path) === target) return
    rmSync(path)
  }
  symlinkSync(target, path)
}

const kindOf = (entry: Stats | undefined): string | undefined =>
  entry && (entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file')

const account = (name: string, uid: number, gid: number): string =>
  `${name}:x:${uid}:${gid}::${name === 'gantry' ? HOME : '/'}:/bin/sh\n`

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined
