import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { homedir, networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test as declare, describe } from 'node:test'
import { bubblewrap } from '../../src/sandbox/local/bubblewrap.ts'
import {
  CALLS,
  Inside,
  KINDS,
  NO_PYTHON,
  NOBODY,
  PRIVILEGED,
  passesForNobody,
  portrait,
  SWAP,
} from '../support/inside.ts'
import { sampled } from '../support/sampled.ts'
import { count, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** In this process, which plays the server, and nowhere inside. */
/** The same again for an ordinary user: some of it is enough to see that it is. */
const test = sampled(PRIVILEGED ? 1 : 4)

const CANARY = `canary-${crypto.randomUUID()}`
process.env.GANTRY_TEST_CANARY = CANARY

const FORBIDDEN = process.arch === 'arm64' ? [97, 268, 40, 280, 219, 241, 282] : [272, 308, 165, 321, 250, 298, 323]
const IO_URING_SETUP = 425
const CLONE3 = 435
const CLONE = process.arch === 'arm64' ? 220 : 56
const IOCTL = process.arch === 'arm64' ? 29 : 16

const NUMBERS = /^\d+$/
const ENOENT_ALL = [
  '/root',
  '/sys/kernel',
  '/boot',
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/sudoers',
  '/etc/ssh',
  '/etc/machine-id',
  '/etc/fstab',
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/containerd',
  '/run/dbus',
  '/run/systemd',
  '/run/user',
  '/var/lib/docker',
  '/dev/mem',
  '/dev/kmsg',
  '/dev/fuse',
  '/dev/kvm',
  '/dev/net',
  '/dev/vda',
  '/dev/sda',
]

for (const { walls, skip } of KINDS)
  describe(`T-44: walls by ${walls.name}${PRIVILEGED ? '' : ', for an ordinary user'}`, {
    skip: skip || NO_PYTHON,
  }, () => {
    const filtered = walls === bubblewrap
    let inside: Inside
    before(async () => {
      inside = await Inside.open({ walls })
      await writeFile(join(inside.data, 'secret'), CANARY, { mode: 0o644 })
      await Promise.all([inside.start('box'), inside.start('other')])
    })
    after(() => inside[Symbol.asyncDispose]())

    test('nothing of the server’s environment, memory or arguments is in any process that is seen', async () => {
      const text = await inside.sh(
        'env; for at in /proc/[0-9]*; do cat $at/environ $at/cmdline; ls -l $at/fd $at/root; done',
      )
      assert.ok(!text.includes(CANARY))
      assert.ok(!text.includes(inside.data), text)
    })

    test('only its own processes are seen; the first of them cannot be traced or looked into', async () => {
      const { pids, first } = await inside.probe(`
found['pids'] = {one: read(f'/proc/{one}/comm').decode().strip() for one in os.listdir('/proc') if one.isdigit()}
ptrace = lambda pid: libc.ptrace(16, pid, 0, 0) == 0 or (_ for _ in ()).throw(OSError(ctypes.get_errno(), ''))
found['first'] = {'trace': refused(lambda: ptrace(1))}
for name in ('environ', 'mem', 'maps'): found['first'][name] = refused(lambda: read('/proc/1/' + name))
for name in ('root', 'cwd', 'exe', 'fd/1', 'ns/user', 'ns/mnt'): found['first'][name] = refused(lambda: os.readlink('/proc/1/' + name))
found['first']['log'] = refused(lambda: write('/proc/1/fd/1'))`)
      assert.ok(
        Object.values<string>(pids).every(name => /^(sh|sleep|bwrap|python3[.\d]*)$/.test(name)),
        JSON.stringify(pids),
      )
      for (const [what, why] of Object.entries(first)) assert.match(`${why}`, /^(EPERM|EACCES)$/, `${what}: ${why}`)
    })

    test('no capability is left, none can be gained, and programs with the set-user bit give none', async () => {
      const status = await inside.sh('cat /proc/self/status')
      const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)$`, 'm').exec(status)?.[1]
      for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb', ...(filtered ? ['CapBnd'] : [])])
        assert.equal(Number.parseInt(field(name)!, 16), 0, name)
      assert.equal(field('NoNewPrivs'), '1')
      assert.equal(field('Seccomp'), filtered ? '2' : '0')
      const { gained } = await inside.probe(`
import subprocess, shutil
shutil.copy('/bin/sh', '/tmp/own'); os.chmod('/tmp/own', 0o6755)
found['gained'] = [words for words in (['mount', '-t', 'tmpfs', 'none', '/tmp'], ['/tmp/own', '-c', '[ $(id -u) != ' + str(os.getuid()) + ' ]'], ['umount', '-l', '/etc'])
  if shutil.which(words[0]) and subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0]`)
      assert.deepEqual(gained, [])
    })

    test('of the machine’s files it has programs, for reading, and nothing about its people', async () => {
      const people = [homedir(), process.cwd(), import.meta.dirname, inside.data, join(inside.data, 'secret')]
      const paths = [...ENOENT_ALL, ...people.filter(path => path !== '/')]
      const { seen, passwd, hosts } = await inside.probe(
        `
found['seen'] = [path for path in given['paths'] if os.path.lexists(path)]
found['passwd'] = [line.split(':')[0] for line in open('/etc/passwd')]
found['hosts'] = open('/etc/hosts').read() + open('/etc/hostname').read() + open('/etc/resolv.conf').read()`,
        { paths },
      )
      assert.deepEqual(seen, [])
      assert.ok(passwd.length <= 3, `${passwd}`)
      assert.ok(!hosts.includes('nameserver'))
    })

    test('what is mounted is for reading only, but for its own folder and what is made anew', async () => {
      const lines = (await inside.sh('cat /proc/self/mountinfo')).trim().split('\n')
      const writable = lines.flatMap(line => {
        const [, , , , target = '', options = ''] = line.split(' ')
        return options.split(',').includes('rw') ? [target] : []
      })
      assert.deepEqual(
        writable.filter(
          target =>
            !/^(\/|\/proc|\/proc\/sys\/user|\/run|\/tmp|\/dev|\/dev\/(null|zero|full|random|urandom|tty|pts|shm))$/.test(
              target,
            ),
        ),
        [],
      )
      for (const line of lines.filter(one => !one.includes(' /dev/'))) assert.match(line, /nosuid/)
      for (const path of ['/usr/x', '/bin/x', '/etc/x', '/lib/x', '/etc/ssl/x', '/proc/sys/kernel/hostname'])
        assert.match(await inside.sh(`echo x > ${path} && echo written`), /Read-only|denied/i, path)
    })

    test('no path, link, handle or mount leads to the data folder', async () => {
      const secret = join(inside.data, 'secret')
      const { ways } = await inside.probe(
        `
secret, sources = given['secret'], [line.split()[3] for line in open('/proc/self/mountinfo')]
found['ways'] = ways = {}
ways['path'] = refused(lambda: read(secret))
ways['up'] = refused(lambda: read('/..' * 30 + secret))
ways['root of itself'] = refused(lambda: read('/proc/self/root/../../..' + secret))
ways['root of the first'] = refused(lambda: read('/proc/1/root' + secret))
ways['directory of the first'] = refused(lambda: read('/proc/1/cwd' + secret))
ways['hard link'] = refused(lambda: os.link(secret, '/tmp/linked'))
os.symlink(secret, '/tmp/pointing')
ways['link'] = refused(lambda: read('/tmp/pointing'))
ways['sources'] = next((path for path in sources if path not in ('/', '/usr', '/null') and '/sandboxes/' in path and os.path.exists(path)), 'ENOENT')
root = os.open('/', os.O_RDONLY)
handle = bytes([8, 0, 0, 0, 1, 0, 0, 0]) + (2).to_bytes(4, 'little') + bytes(4)
ways['handle'] = refused(lambda: call(given['calls']['open_by_handle_at'], root, handle, 0))
os.unlink('/tmp/pointing')`,
        { secret, calls: CALLS },
      )
      for (const [way, why] of Object.entries(ways)) assert.match(`${why}`, /^(ENOENT|EPERM|EACCES)$/, `${way}: ${why}`)
    })

    test('no port, socket, memory, semaphore or bus of the machine is reached', async t => {
      const sockets = [createServer(), createServer(), createServer()]
      t.after(() => Promise.all(sockets.map(one => one.close())))
      const named = join(inside.data, 'socket')
      const abstract = `gantry-${crypto.randomUUID()}`
      await once(sockets[0]!.listen(0, '::'), 'listening')
      await once(sockets[1]!.listen(named), 'listening')
      await once(sockets[2]!.listen(`\0${abstract}`), 'listening')
      const { port } = sockets[0]!.address() as AddressInfo
      const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
      const addresses = [
        '127.0.0.1',
        '::1',
        '0.0.0.0',
        '169.254.169.254',
        '1.1.1.1',
        ...own.map(({ address }) => address),
      ]
      const shared = `/dev/shm/gantry-${crypto.randomUUID()}`
      await writeFile(shared, CANARY, { mode: 0o666 })
      t.after(() => rm(shared, { force: true }))
      const segment = /\d+/.exec(
        spawnSync('ipcmk', ['--shmem', '4096', '--mode', '666'], { encoding: 'utf8' }).stdout ?? '',
      )?.[0]
      if (segment) t.after(() => spawnSync('ipcrm', ['--shmem-id', segment]))

      const began = performance.now()
      const told = await inside.probe(
        `
family = lambda address: socket.AF_INET6 if ':' in address else socket.AF_INET
found['ports'] = {address: refused(lambda: connect(family(address), (address, given['port']))) for address in given['addresses']}
found['name'] = refused(lambda: socket.getaddrinfo('example.org', 80))
found['datagram'] = refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53)))
found['raw'] = refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
found['named'] = refused(lambda: connect(socket.AF_UNIX, given['named']))
found['abstract'] = refused(lambda: connect(socket.AF_UNIX, chr(0) + given['abstract']))
found['interfaces'] = os.listdir('/sys/class/net') if os.path.exists('/sys/class/net') else [line.split(':')[0].strip() for line in list(open('/proc/net/dev'))[2:]]
found['segments'] = len(list(open('/proc/sysvipc/shm'))) - 1
found['memory'] = refused(lambda: read(given['shared']))
found['own memory'] = refused(lambda: write('/dev/shm/own'))
found['unix'] = [line for line in open('/proc/net/unix') if given['abstract'] in line]`,
        { port, addresses, named, abstract, shared },
      )
      assert.ok(performance.now() - began < 2_000, 'a way was tried for long')
      for (const [address, why] of Object.entries(told.ports))
        assert.match(`${why}`, /^(ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL|EINVAL|EHOSTUNREACH)$/, address)
      assert.equal(told.name, 'no such name')
      assert.equal(told.datagram, 'ENETUNREACH')
      assert.equal(told.raw, 'EPERM')
      assert.equal(told.named, 'ENOENT')
      assert.equal(told.abstract, 'ECONNREFUSED')
      assert.deepEqual(told.interfaces, ['lo'])
      assert.equal(told.segments, 0)
      assert.equal(told.memory, 'ENOENT')
      assert.equal(told['own memory'], 'no')
      assert.deepEqual(told.unix, [])
    })

    test('another sandbox’s processes, files, ports and sockets are not there', async () => {
      const abstract = `gantry-${crypto.randomUUID()}`
      const neighbour = await inside.backend.sandbox('other').exec({
        argv: [
          '/usr/bin/python3',
          '-c',
          `import socket, sys, time
tcp = socket.create_server(('127.0.0.1', 4567)); unix = socket.socket(socket.AF_UNIX); unix.bind(chr(0) + sys.argv[1]); unix.listen()
open('/tmp/neighbour', 'w').write('x'); open('/dev/shm/neighbour', 'w').write('x'); open('/run/neighbour', 'w').write('x')
print('ready', flush=True); time.sleep(60)`,
          abstract,
        ],
      })
      await once(neighbour.stdout, 'data')
      const told = await inside.probe(
        `
found['port'] = refused(lambda: connect(socket.AF_INET, ('127.0.0.1', 4567)))
found['socket'] = refused(lambda: connect(socket.AF_UNIX, chr(0) + given['abstract']))
found['files'] = [path for path in ('/tmp/neighbour', '/dev/shm/neighbour', '/run/neighbour') if os.path.exists(path)]
found['processes'] = [one for one in os.listdir('/proc') if one.isdigit() and given['abstract'].encode() in read(f'/proc/{one}/cmdline') and int(one) != os.getpid()]`,
        { abstract },
      )
      await neighbour.signal('SIGKILL')
      assert.deepEqual(told, { port: 'ECONNREFUSED', socket: 'ECONNREFUSED', files: [], processes: [] })
    })

    test('nothing of the kernel can be set', async () => {
      const { writable, kernel } = await inside.probe(WRITABLE)
      assert.deepEqual(writable, [])
      assert.match(kernel, /^(EROFS|EACCES|EPERM)$/)
    })

    test('calls that programs do not need are refused', {
      skip: !filtered && `${walls.name} brings no filter`,
    }, async () => {
      const { calls, absent, clone, typed, keys } = await inside.probe(
        `
found['calls'] = {number: refused(lambda: call(number, 0, 0, 0, 0, 0)) for number in given['forbidden']}
found['absent'] = [refused(lambda: call(number, 0, 0)) for number in given['absent']]
found['clone'] = refused(lambda: call(given['clone'], 0x10000000 | 17, 0, 0, 0, 0))
import pty
master, slave = pty.openpty()
found['typed'] = [refused(lambda: call(given['ioctl'], slave, request, b'x')) for request in (0x5412, 0x541c, 0x5412 | (1 << 32))]
found['keys'] = refused(lambda: read('/proc/keys'))`,
        { forbidden: FORBIDDEN, absent: [IO_URING_SETUP, CLONE3], clone: CLONE, ioctl: IOCTL },
      )
      assert.deepEqual(
        Object.values(calls),
        FORBIDDEN.map(() => 'EPERM'),
      )
      assert.deepEqual(absent, ['ENOSYS', 'ENOSYS'])
      assert.equal(clone, 'EPERM')
      assert.deepEqual(typed, ['EPERM', 'EPERM', 'EPERM'])
      assert.match(keys, /^(EACCES|EPERM|no)$/)
    })

    test('nobody gets rights by making a user namespace', async () => {
      const { made } = await inside.probe(
        `found['made'] = [refused(lambda: call(given['calls']['unshare'], flags)) for flags in (0x10000000, 0x10020000, 0x20000)]`,
        { calls: CALLS },
      )
      assert.ok(
        made.every((why: string) => /^(EPERM|ENOSPC)$/.test(why)),
        `${made}`,
      )
    })

    test('its files are made with the usual mask, whatever the server’s is', async () => {
      const before = process.umask(0o077)
      try {
        assert.equal((await inside.sh('umask; touch /tmp/masked; stat -c %a /tmp/masked')).trim(), '0022\n644')
      } finally {
        process.umask(before)
      }
    })

    test('a name that a process gives itself is not taken for that of a sandbox', async () => {
      const forged = [`${inside.owner}/../secret`, `${inside.owner}/..`, `${inside.owner}/.`, `${inside.owner}/`]
      const liars = await Promise.all(
        forged.map(mark => inside.backend.sandbox('box').exec({ argv: ['sleep', '60'], env: { GANTRY_HOLD: mark } })),
      )
      const comes = async () => (await readdir('/proc')).filter(pid => NUMBERS.test(pid))
      await until('they run', async () => {
        const environments = await Promise.all(
          (await comes()).map(pid => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')),
        )
        return forged.every(mark => environments.some(text => text.includes(`GANTRY_HOLD=${mark}\0`)))
      })
      const ids = await inside.backend.list()
      for (const liar of liars) await liar.signal('SIGKILL')
      assert.deepEqual(ids.sort(), ['box', 'other'])
    })
  })

/** What outside of its own processes can be opened for writing below /proc, and whether the kernel takes a setting. */
const WRITABLE = `
found['writable'] = []
for folder, folders, files in os.walk('/proc'):
  if folder == '/proc': folders[:] = [one for one in folders if not one.isdigit() and one not in ('self', 'thread-self', 'net', 'pressure')]
  for name in files:
    path = os.path.join(folder, name)
    if os.path.islink(path) or not os.access(path, os.W_OK): continue
    if refused(lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))) == 'no': found['writable'].append(path)
found['kernel'] = refused(lambda: write('/proc/sys/kernel/core_pattern', '|/tmp/evil'))`

/** At the top of a sandbox: what is mounted on, and what is its own. */
const POINTS = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'etc', 'proc', 'dev', 'run', 'tmp']
const MOUNTED = POINTS.filter(name => existsSync(`/${name}`))
const OWN = ['home', 'opt', 'srv', 'var', 'workspace', 'lib32', 'libx32']

for (const { walls, skip } of KINDS)
  describe(`T-44: what a sandbox leaves behind, ${walls.name}${PRIVILEGED ? '' : ', for an ordinary user'}`, {
    skip: skip || NO_PYTHON,
  }, () => {
    let victim: string
    before(async () => {
      victim = await tempFolder()
      for (const name of ['gantry', 'lib', 'log', 'kernel', 'bin']) await mkdir(join(victim, name), { mode: 0o700 })
      await writeFile(join(victim, 'bin/setpriv'), 'x', { mode: 0o600 })
      await symlink('/nowhere', join(victim, 'link'))
    })
    after(() => rm(victim, { recursive: true, force: true }))

    test('a mount point is a mount point: it cannot be moved, removed or mounted over', async () => {
      await using inside = await Inside.open({ walls })
      await inside.start('box')
      const script = MOUNTED.map(
        name =>
          `mv /${name} /${name}.moved && echo moved; rmdir /${name} && echo gone; rm -f /${name} && echo removed; ln -sfn /tmp /${name} 2>&1 | grep -v . && echo linked`,
      )
      const text = await inside.sh(
        `cd /; { ${script.join('\n')}\n} 2>/dev/null; mount --bind /tmp /etc 2>/dev/null && echo mounted; exit 0`,
      )
      assert.equal(text, '')
    })

    test('links in all places, dangling or not: the next start follows none of them, and works', async () => {
      await using inside = await Inside.open({ walls })
      await inside.start('box')
      const before = await portrait(victim)
      const targets = [victim, '/', `${victim}/made`, `../../../../../../../../../../..${victim}`, inside.data]
      for (const target of targets.slice(0, count({ sample: 1, deep: 5 }))) {
        const links = OWN.map(name => `rm -rf /${name}; ln -s ${target} /${name}`)
        await inside.sh(`cd /; { ${links.join('\n')}\n} 2>/dev/null; ls -l / >&2`)
        const swapped = await inside.probe(SWAP, {
          calls: CALLS,
          links: Object.fromEntries(MOUNTED.map(name => [name, target])),
        })
        assert.deepEqual(swapped.swapped, [])
        const kept = await portrait(inside.data)
        // Whether or not there is somewhere to work in, nothing outside may change.
        await inside.restart('box').catch(error => assert.match(error.message, /working directory/))
        assert.deepEqual(await portrait(victim), before)
        const changed = (await portrait(inside.data))
          .filter(line => !kept.includes(line))
          .map(line => line.split(' ')[0]!)
        assert.deepEqual(
          changed.filter(name => !/^(sandboxes\/box(\/(pid|log|spot.*|root(\/[a-z0-9]+)?))?)?$/.test(name)),
          [],
        )
        for (const name of POINTS)
          assert.ok((await lstat(join(inside.data, 'sandboxes/box/root', name))).isDirectory(), name)
        await inside.backend.stop('box')
        await rm(join(inside.data, 'sandboxes/box/root'), { recursive: true, force: true })
        await inside.restart('box')
        assert.equal(await inside.sh('/usr/bin/printf %s fine'), 'fine')
      }
    })

    test('a link where a granted folder belongs does not lead its mount elsewhere', async () => {
      await using inside = await Inside.open({ walls })
      const granted = await tempFolder()
      await inside.start('box')
      await inside.sh(`mkdir -p ${dirname(granted)}; ln -s ${victim} ${granted}`)
      const before = await portrait(victim)
      await inside.backend.stop('box')
      await assert.rejects(inside.start('box', { grants: [{ path: granted, readOnly: false }] }), /something else/)
      assert.deepEqual(await portrait(victim), before)
      await rm(granted, { recursive: true, force: true })
    })

    test('a folder granted within another is still that folder the next time, or is not shown', async () => {
      await using inside = await Inside.open({ walls })
      const outer = await tempFolder()
      await mkdir(join(outer, 'a/inner'), { recursive: true })
      if (PRIVILEGED) for (const path of [outer, join(outer, 'a')]) await chown(path, NOBODY, NOBODY)
      const grants = [outer, join(outer, 'a/inner')].map(path => ({ path, readOnly: false }))
      await inside.start('box', { grants })
      await inside.sh(`cd ${outer} && mv a b && mkdir a && ln -s ${victim} a/inner`)
      await assert.rejects(inside.restart('box'), /no longer the folder/)
      await rm(outer, { recursive: true, force: true })
    })

    test('when it is removed, links in it are removed and not followed', async () => {
      await using inside = await Inside.open({ walls })
      await inside.start('box')
      await inside.sh(
        `ln -s ${victim} /tmp/a; ln -s / /workspace/b; mkdir -p /tmp/closed/in; ln -s ${victim} /tmp/closed/in/c; chmod 0 /tmp/closed/in /tmp/closed`,
      )
      const before = await portrait(victim)
      await inside.backend.remove('box')
      assert.deepEqual(await portrait(victim), before)
      assert.ok(!(await readdir(join(inside.data, 'sandboxes'))).includes('box'))
    })
  })

for (const { walls, skip } of KINDS)
  describe(`T-44: root inside is nobody, ${walls.name}`, {
    skip: skip || NO_PYTHON || (!PRIVILEGED && 'only root can try this'),
  }, () => {
    test('without capabilities it sets nothing of the kernel, mounts nothing, makes no device and leaves no root', async () => {
      await using inside = await Inside.open({ walls, user: { uid: 0, gid: 0 } })
      await writeFile(join(inside.data, 'secret'), CANARY, { mode: 0o600 })
      await inside.start('box')
      assert.equal(
        (await inside.sh('id -u; grep CapEff /proc/self/status')).replace(/\s+/g, ' ').trim(),
        '0 CapEff: 0000000000000000',
      )
      const told = await inside.probe(
        `${WRITABLE}
NR = given['calls']
os.makedirs('/tmp/cage', exist_ok=True)
found['mount'] = refused(lambda: call(NR['mount'], b'none', b'/tmp', b'tmpfs', 0, 0))
found['remount'] = refused(lambda: call(NR['mount'], b'none', b'/usr', b'', 32 | 4096, 0))
found['unmount'] = refused(lambda: call(NR['umount2'], b'/etc', 2))
found['device'] = refused(lambda: os.mknod('/tmp/disk', 0o60666, os.makedev(254, 0)))
found['chroot'] = refused(lambda: call(NR['chroot'], b'/tmp/cage'))
found['namespace'] = refused(lambda: call(NR['setns'], os.open('/proc/self/ns/mnt', os.O_RDONLY), 0))
found['handle'] = refused(lambda: call(NR['open_by_handle_at'], os.open('/', os.O_RDONLY), bytes([8, 0, 0, 0, 1, 0, 0, 0]) + (2).to_bytes(4, 'little') + bytes(4), 0))
found['secret'] = refused(lambda: read(given['secret']))
found['usr'] = refused(lambda: write('/usr/bin/evil'))
found['first'] = refused(lambda: read('/proc/1/environ'))
found['trigger'] = refused(lambda: write('/proc/sysrq-trigger', 'h')) if os.path.exists('/proc/sysrq-trigger') else 'ENOENT'`,
        { calls: CALLS, secret: join(inside.data, 'secret') },
      )
      const { writable, ...ways } = told
      assert.deepEqual(writable, [])
      for (const [way, why] of Object.entries(ways))
        assert.match(`${why}`, /^(EPERM|EACCES|EROFS|ENOENT)$/, `${way}: ${why}`)
    })
  })

declare(
  'T-44: an ordinary user’s walls are the same',
  {
    skip: !PRIVILEGED && 'not root: this whole file is that test',
  },
  () => passesForNobody(import.meta.filename),
)
