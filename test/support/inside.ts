import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '../../src/lib/id.ts'
import { bubblewrap } from '../../src/sandbox/local/bubblewrap.ts'
import { Cgroups } from '../../src/sandbox/local/cgroup.ts'
import type { Gate } from '../../src/sandbox/local/outlet.ts'
import { utilLinux } from '../../src/sandbox/local/util-linux.ts'
import type { User } from '../../src/sandbox/local/view.ts'
import type { Walls } from '../../src/sandbox/local/walls.ts'
import { LocalBackend } from '../../src/sandbox/local.ts'
import { type Outcome, run } from '../../src/sandbox/run.ts'
import type { Command, Order } from '../../src/sandbox/sandbox.ts'
import { tempFolder } from './server.ts'

export const PRIVILEGED = process.getuid?.() === 0
/** Somebody without a name or rights on this machine. */
export const NOBODY = 65_533

/** Where sandboxes find it, which need not be where this process does. */
export const PYTHON = '/usr/bin/python3'
export const NO_PYTHON: string | false = !existsSync(PYTHON) && `there is no ${PYTHON} to probe with`

/** Each kind of walls, and why it cannot be tried here. */
export const KINDS: readonly { walls: Walls; skip: string | false }[] = [
  { walls: bubblewrap, skip: lacks(['bwrap', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', 'true']) },
  { walls: utilLinux, skip: lacks(['unshare', '--mount', '--pid', '--net', '--fork', 'true']) },
]

function lacks([program, ...words]: [string, ...string[]]): string | false {
  const rights = program === 'unshare' && !PRIVILEGED ? ['--user', '--map-root-user'] : []
  return (
    spawnSync(program, [...rights, ...words], { stdio: 'ignore' }).status !== 0 && `${program} isolates nothing here`
  )
}

export interface InsideOptions {
  walls: Walls
  /** Whom commands run as; nobody known unless given. */
  user?: User
  gate?: Gate
}

/** Sandboxes without a server, to look around in. */
export class Inside implements AsyncDisposable {
  readonly backend: LocalBackend
  /** What a server would keep its own files in. */
  readonly data: string
  readonly owner: string
  readonly limited: boolean
  readonly #orders = new Map<string, Order>()

  private constructor(backend: LocalBackend, data: string, owner: string, limited: boolean) {
    this.backend = backend
    this.data = data
    this.owner = owner
    this.limited = limited
  }

  static async open({ walls, user, gate }: InsideOptions): Promise<Inside> {
    const data = await tempFolder()
    const owner = newId().slice(0, 8)
    const cgroups = Cgroups.find(`gantry-test-${owner}`)
    const somebody = PRIVILEGED ? { uid: NOBODY, gid: NOBODY } : { uid: process.getuid!(), gid: process.getgid!() }
    const backend = await LocalBackend.open({
      folder: join(data, 'sandboxes'),
      shared: join(data, 'hands'),
      owner,
      user: user ?? somebody,
      privileged: PRIVILEGED,
      cgroups,
      walls: [walls],
      gate,
    })
    return new Inside(backend, data, owner, cgroups !== undefined)
  }

  async start(id: string, more: Partial<Order> = {}): Promise<void> {
    const limits = { memoryBytes: 512e6, processes: 200, cpus: 2, diskBytes: 1e9 }
    const order = {
      id,
      workingDir: '/workspace',
      env: {},
      limits,
      egress: { mode: 'none' },
      grants: [],
      ...more,
    } as const
    this.#orders.set(id, order)
    await this.backend.start(order)
  }

  /** Its files are kept, and whatever was left among them. */
  async restart(id: string): Promise<void> {
    await this.backend.stop(id)
    await this.backend.start(this.#orders.get(id)!)
  }

  run(argv: Command['argv'], id = 'box'): Promise<Outcome> {
    return run(this.backend.sandbox(id), { argv, cwd: '/', timeoutMs: 20_000 }, { limit: 4_000_000 })
  }

  /** What it printed, errors too, however it ended. */
  async sh(script: string, id = 'box'): Promise<string> {
    return said(await this.run(['/bin/sh', '-c', script], id))
  }

  /** What the probe found, which is what it assigned to `found`. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the probe makes of it
  async probe(script: string, given: object = {}, id = 'box'): Promise<any> {
    const ended = await this.run(
      [PYTHON, '-c', `${PRELUDE}${script}\nprint(json.dumps(found))`, JSON.stringify(given)],
      id,
    )
    assert.equal(ended.code, 0, said(ended))
    return JSON.parse(ended.stdout.toString())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#orders.keys()) await this.backend.remove(id)
    await this.backend.close()
    await rm(this.data, { recursive: true, force: true })
  }
}

const said = ({ stdout, stderr }: Outcome): string => `${stdout}${stderr}`

/** `refused` tells the name of the error that something ended with, or `no` when it did not. */
const PRELUDE = `
import ctypes, errno, json, os, socket, sys
given = json.loads(sys.argv[1])
found = {}
libc = ctypes.CDLL(None, use_errno=True)
def refused(act):
  try: act()
  except socket.gaierror: return 'no such name'
  except OSError as error: return errno.errorcode.get(error.errno, str(error))
  return 'no'
def call(number, *words):
  words = [ctypes.c_char_p(word) if isinstance(word, bytes) else ctypes.c_ulong(word) for word in words]
  if libc.syscall(ctypes.c_long(number), *words) == -1: raise OSError(ctypes.get_errno(), '')
def connect(family, address):
  one = socket.socket(family, socket.SOCK_STREAM)
  one.settimeout(2)
  with one: one.connect(address)
def read(path):
  with open(path, 'rb') as file: return file.read(65536)
def write(path, text='x'):
  with open(path, 'w') as file: file.write(text)
`

/**
 * Moves itself where the sandbox's mount points are not mounted on, and swaps them there for links: \`given.links\`, by name. Only where
 * new namespaces can be made inside.
 */
export const SWAP = `
uid, gid = os.getuid(), os.getgid()
NR = given['calls']
root = os.open('/', os.O_RDONLY)
found['unshare'] = refused(lambda: call(NR['unshare'], 0x10020000))
if found['unshare'] == 'no':
  write('/proc/self/setgroups', 'deny'); write('/proc/self/uid_map', f'0 {uid} 1'); write('/proc/self/gid_map', f'0 {gid} 1')
  os.makedirs('/tmp/elsewhere', exist_ok=True)
  call(NR['mount'], b'none', b'/', b'', (1 << 14) | (1 << 18), 0)
  call(NR['mount'], b'none', b'/tmp/elsewhere', b'tmpfs', 0, 0)
  os.mkdir('/tmp/elsewhere/old')
  call(NR['pivot_root'], b'/tmp/elsewhere', b'/tmp/elsewhere/old')
  os.chdir('/')
  call(NR['umount2'], b'/old', 2)
def swap(name, to):
  os.rename(name, name + '.moved', src_dir_fd=root, dst_dir_fd=root)
  os.symlink(to, name, dir_fd=root)
found['swapped'] = [name for name, to in given['links'].items() if refused(lambda: swap(name, to)) == 'no']
`

/** By name, the numbers of the calls that probes make. */
export const CALLS: Record<string, number> =
  process.arch === 'arm64'
    ? {
        unshare: 97,
        setns: 268,
        mount: 40,
        umount2: 39,
        pivot_root: 41,
        chroot: 51,
        mknodat: 33,
        open_by_handle_at: 265,
      }
    : {
        unshare: 272,
        setns: 308,
        mount: 165,
        umount2: 166,
        pivot_root: 155,
        chroot: 161,
        mknodat: 259,
        open_by_handle_at: 304,
      }

/** Everything about a tree of files that somebody with rights could have changed, a line each. Links are not followed. */
export async function portrait(folder: string, name = ''): Promise<string[]> {
  const path = join(folder, name)
  const { mode, uid, gid, size, ctimeMs, nlink } = await lstat(path)
  const below = (mode & 0o170000) === 0o040000 ? (await readdir(path)).sort() : []
  const lines = await Promise.all(below.map(one => portrait(folder, join(name, one))))
  return [[name, mode.toString(8), uid, gid, size, nlink, ctimeMs].join(' '), ...lines.flat()]
}

/** Runs a file of tests as somebody without rights, and expects it to pass. */
export async function passesForNobody(file: string): Promise<void> {
  const home = await tempFolder()
  await chmod(home, 0o777)
  const child = spawn(process.execPath, ['--test', file], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    env: { ...process.env, HOME: home, TMPDIR: home, NODE_TEST_CONTEXT: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk
    })
  const [code] = await once(child, 'close')
  await rm(home, { recursive: true, force: true })
  assert.equal(code, 0, output)
}
