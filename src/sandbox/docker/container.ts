import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { baseEnv } from '../environment.ts'
import type { Limits, Order } from '../sandbox.ts'
import { answered, type Engine } from './engine.ts'
import { IDLE } from './script.ts'
import { unframed } from './streams.ts'
import { type Entry, firstFile, tar } from './tar.ts'

export interface User {
  uid: number
  gid: number
}

/** What we read of the engine's view of a container. */
export interface Container {
  Config: { Labels: Record<string, string> | null; Env: string[] | null; Entrypoint: string[] | null }
  HostConfig: { Memory: number; PidsLimit: number | null; NanoCpus: number }
  State: {
    Status: 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead' | 'stopped' | 'configured'
    ExitCode: number
    Error: string
    OOMKilled: boolean
    Pid: number
  }
  SizeRw?: number
}

export const HOME = '/home/gantry'

export const LABELS = {
  owner: 'dev.gantry.owner',
  sandbox: 'dev.gantry.sandbox',
  /** Of what cannot be changed once a container is made. */
  shape: 'dev.gantry.shape',
} as const

/** As much of what it printed as is kept, so that a talkative sandbox cannot fill the disk. */
const LOG_SIZE = '1m'
/** As much of it as is told. */
const LOG_LINES = 200

export interface Making {
  order: Order
  owner: string
  user: User
}

/** The part of what a container is created with that can also be changed later. */
export const resources = ({ memoryBytes, processes, cpus }: Limits, cores: number) => ({
  Memory: memoryBytes,
  // No more with swap than without.
  MemorySwap: memoryBytes,
  PidsLimit: processes,
  // An engine refuses more than there are.
  NanoCpus: Math.round(Math.min(cpus, cores) * 1e9),
})

const within = (path: string, { grants }: Order): boolean =>
  grants.some(grant => path === grant.path || path.startsWith(`${grant.path}/`))

/** The path is the image's own. */
function variables({ env }: Order): string[] {
  const { PATH, ...base } = baseEnv({ home: HOME, terminal: false })
  return Object.entries({ ...base, ...env }).map(pair => pair.join('='))
}

/** Where an image has its programs, after those that were installed for the user. */
export function pathIn({ Config }: Container): string | undefined {
  const own = Config.Env?.find(pair => pair.startsWith('PATH='))?.slice('PATH='.length)
  return own && `${HOME}/.local/bin:${own}`
}

/** What an engine makes a container from. */
export function blueprint({ order, owner, user }: Making) {
  const { runtime } = order
  const { id, command, grants, workingDir } = order
  const fixed = {
    Entrypoint: command ?? IDLE,
    User: `${user.uid}:${user.gid}`,
    // What nobody asked to be run needs no variables: they would be kept in the engine's files.
    Env: command ? variables(order) : [],
    // The engine would make it, as root, where a grant has none.
    WorkingDir: within(workingDir, order) ? '/' : workingDir,
    Mounts: grants.map(({ path, readOnly }) => ({ Type: 'bind', Source: path, Target: path, ReadOnly: readOnly })),
  }
  const shape = createHash('sha256')
    .update(JSON.stringify([fixed, runtime]))
    .digest('hex')
    .slice(0, 16)
  const { Mounts, ...config } = fixed
  return {
    ...config,
    Cmd: [],
    Hostname: 'gantry',
    Labels: { [LABELS.owner]: owner, [LABELS.sandbox]: id, [LABELS.shape]: shape },
    HostConfig: {
      Mounts,
      Init: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      NetworkMode: 'none',
      LogConfig: { Type: 'json-file', Config: { 'max-size': LOG_SIZE } },
      ...(runtime !== undefined && { Runtime: runtime }),
    },
  }
}

const DIRECTORY_BIT = 2 ** 31
const WRITABLE_BY_ALL = 0o002

/**
 * Gives a container that has never run its home and its working directory, and its user a name. Only then: the engine does it as
 * root, and must not be led anywhere by what a command left.
 */
export async function furnish(engine: Engine, container: string, { order, user }: Making): Promise<void> {
  const entries: Entry[] = []
  for (const place of [HOME, order.workingDir])
    if (!within(place, order)) entries.push(...(await folders(engine, container, place, user)))
  const passwd = await users(engine, container, user)
  if (passwd) entries.push({ path: '/etc/passwd', mode: 0o644, uid: 0, gid: 0, content: passwd })
  if (entries.length === 0) return
  await engine.send('PUT', `/containers/${container}/archive`, { query: { path: '/' }, body: tar(entries) })
}

/** A folder and those above it, as far as they are missing. */
async function folders(engine: Engine, container: string, path: string, user: User): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let each = posix.normalize(path); each !== '/'; each = posix.dirname(each)) {
    const found = await modeOf(engine, container, each)
    if (found === undefined) entries.unshift({ path: each, mode: 0o755, ...user })
    else if (each === path && found & DIRECTORY_BIT && !(found & WRITABLE_BY_ALL))
      entries.unshift({ path: each, mode: found & 0o777, ...user })
    if (found !== undefined) break
  }
  return entries
}

async function modeOf(engine: Engine, container: string, path: string): Promise<number | undefined> {
  try {
    const headers = await engine.headers(`/containers/${container}/archive`, { query: { path } })
    const stat = Buffer.from(`${headers['x-docker-container-path-stat'] ?? ''}`, 'base64').toString()
    return (JSON.parse(stat) as { mode: number }).mode >>> 0
  } catch (error) {
    if (answered(error, 404)) return undefined
    throw error
  }
}

/** The list of users with ours in it; undefined when it is there, or there is no list. `ssh` and others want a name. */
async function users(engine: Engine, container: string, { uid, gid }: User): Promise<Buffer | undefined> {
  try {
    const archive = await engine.stream('GET', `/containers/${container}/archive`, { query: { path: '/etc/passwd' } })
    const list = firstFile(await buffer(archive))?.toString()
    if (list === undefined || list.split('\n').some(line => line.split(':')[2] === `${uid}`)) return undefined
    return Buffer.from(`${list.trimEnd()}\ngantry:x:${uid}:${gid}:gantry:${HOME}:/bin/sh\n`)
  } catch (error) {
    if (answered(error, 400, 404)) return undefined
    throw error
  }
}

/** The last lines it printed. */
export async function logsOf(engine: Engine, container: string): Promise<string> {
  const query = { stdout: true, stderr: true, tail: LOG_LINES }
  const parts: Buffer[] = []
  const take = unframed((_, part) => parts.push(part))
  take(await buffer(await engine.stream('GET', `/containers/${container}/logs`, { query })))
  return Buffer.concat(parts).toString()
}

/** Why it is not running, for a person. */
export async function postMortem(engine: Engine, container: string, { State }: Container): Promise<string> {
  const { ExitCode, Error: reason, OOMKilled } = State
  if (reason) return reason
  const last = (await logsOf(engine, container).catch(() => '')).trim()
  const how = OOMKilled ? 'ran out of memory and ended' : 'ended'
  return `The sandbox ${how} with exit code ${ExitCode}${last ? `:\n${last}` : ' and printed nothing'}`
}
