import { execFile } from 'node:child_process'
import { access, constants, readFile, stat, statfs } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { freemem, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config.ts'
import { Ownership } from '../store/ownership.ts'

export interface Finding {
  name: string
  /** `missing` is a pity, `bad` is why something does not work. */
  state: 'good' | 'missing' | 'bad'
  text: string
  /** What to do about it. */
  fix?: string
}

const GiB = 1024 ** 3
const PATIENCE_MS = 3000
/** An agent, its tools and a build. */
const ENOUGH_BYTES = 2 * GiB

const gib = (bytes: number): string => `${(bytes / GiB).toFixed(1)} GiB`
const good = (name: string, text: string): Finding => ({ name, state: 'good', text })

export function memory(): Finding {
  const text = `${gib(freemem())} free of ${gib(totalmem())}`
  if (totalmem() >= ENOUGH_BYTES) return good('memory', text)
  return { name: 'memory', state: 'missing', text, fix: `${gib(ENOUGH_BYTES)} or more is better` }
}

/** What keeps a sandbox from taking all there is. */
export async function limits(): Promise<Finding> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8').catch(() => '')).split('\n').map(line => line.split(' '))
  const root = mounts.find(([, , type]) => type === 'cgroup2')?.[1]
  const own = /^0::(\/.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''))?.[1] ?? '/'
  const folders = root === undefined ? [] : [root, join(root, own)]
  const writable = await Promise.all(folders.map(folder => can(folder, constants.W_OK)))
  if (writable.includes(true))
    return good('limits', 'control groups can be made: memory, processes and processor time are limited')
  return {
    name: 'limits',
    state: 'missing',
    text: 'no control groups can be made: a sandbox can use all memory and processor time there is',
    fix: 'run it as root, or in a unit with Delegate=yes (systemd-run --user --scope -p Delegate=yes gantry)',
  }
}

export async function program(name: string, args: string[], fix: string): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)(name, args, { timeout: PATIENCE_MS })
    return good(name, stdout.split('\n', 1)[0]!.trim())
  } catch {
    return { name, state: 'missing', text: 'not found', fix }
  }
}

/** Only templates with an image need one. */
export async function engine({ docker_socket, sandbox_specs }: Config): Promise<Finding> {
  const version = await new Promise<string | undefined>(resolve => {
    const asking = request({ socketPath: docker_socket, path: '/version', timeout: PATIENCE_MS }, async response => {
      const text = (await Array.fromAsync(response.setEncoding('utf8'))).join('')
      resolve(response.statusCode === 200 ? text : undefined)
    })
    asking.on('timeout', () => asking.destroy())
    asking.on('error', () => resolve(undefined))
    asking.end()
  })
  if (version !== undefined) return good('containers', `an engine answers at ${docker_socket}`)
  const isNeeded = sandbox_specs.some(spec => spec.image !== undefined)
  return {
    name: 'containers',
    state: isNeeded ? 'bad' : 'missing',
    text: `no engine answers at ${docker_socket}; templates with an image need one`,
    fix: 'install Docker or Podman, or name its socket with --docker-socket',
  }
}

export async function dataFolder(folder: string): Promise<Finding> {
  const running = Ownership.announced(folder)
  const there = await stat(folder).catch(() => undefined)
  const usable = there ? folder : dirname(folder)
  const bad = (text: string, fix: string): Finding => ({ name: 'data', state: 'bad', text: `${folder} ${text}`, fix })
  if (there && !there.isDirectory()) return bad('is no folder', 'choose another with --data')
  if (!(await can(usable, constants.W_OK | constants.X_OK)))
    return bad('cannot be written', 'choose another with --data, or change its owner')
  if (there && (there.mode & 0o077) !== 0) return bad('can be read by others', `chmod 700 ${folder}`)
  const { bavail, bsize } = await statfs(usable)
  const state = running ? `used by the server at ${running.url}` : there ? 'free to use' : 'made at the first start'
  return good('data', `${folder}: ${state}; ${gib(bavail * bsize)} left on the disk`)
}

export async function port({ host, port, data }: Config): Promise<Finding> {
  if (Ownership.announced(data)) return good('port', 'the server runs')
  const trouble = await new Promise<NodeJS.ErrnoException | undefined>(resolve => {
    const server = createServer()
    server.once('error', resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
  if (!trouble) return good('port', `${port} on ${host} is free`)
  return { name: 'port', state: 'bad', text: `${port} on ${host}: ${trouble.code}`, fix: 'choose another with --port' }
}

const can = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )
