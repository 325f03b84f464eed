import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Client, createClient } from '../api/client.ts'
import type { Config } from '../config.ts'
import { makeLog } from '../lib/log.ts'
import { BadUsage } from '../lib/usage.ts'
import { Ownership } from '../store/ownership.ts'
import { Failure, type Io, say } from './io.ts'
import { styleOf } from './text.ts'

/** As options give it. */
export interface Where {
  server?: string
  key?: string
  'key-file'?: string
  data?: string
  config?: string
  /** A folder of this machine to grant to a server that is started for the moment. */
  workspace?: string
}

export interface Server extends AsyncDisposable {
  baseUrl: string
  key: string | undefined
  client: Client
  /** Whether it lives in this process, and ends with it. */
  isOurs: boolean
}

/** The server that was named, else the one that runs on the data folder, else one in this process. */
export const connect = async (io: Io, where: Where): Promise<Server> => (await running(io, where)) ?? start(io, where)

/** The same, where one of this process would be of no use. */
export async function connectRunning(io: Io, where: Where): Promise<Server> {
  const server = await running(io, where)
  if (!server) throw new Failure('no server runs on this data folder: start one with "gantry serve"')
  return server
}

async function running(io: Io, where: Where): Promise<Server | undefined> {
  const data = await dataFolder(io, where)
  const named = where.server ?? io.env.GANTRY_URL
  const running = Ownership.announced(data)
  const baseUrl = named === undefined ? running?.url : addressIn(named)
  if (baseUrl === undefined) return undefined
  // The key of the folder is for the server of the folder alone.
  const key = givenKey(io, where) ?? (baseUrl === running?.url ? keyIn(data) : undefined)
  return { ...reached(baseUrl, key), isOurs: false, [Symbol.asyncDispose]: async () => undefined }
}

export async function dataFolder(io: Io, { data, config }: Pick<Where, 'data' | 'config'>): Promise<string> {
  const given = data ?? io.env.GANTRY_DATA
  if (given) return resolve(given)
  return config === undefined ? join(homedir(), '.gantry') : (await configFor(io, { config })).data
}

/** The key that was made for the folder; undefined when there is none. */
export function keyIn(data: string): string | undefined {
  try {
    return readFileSync(join(data, 'session-key'), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const reached = (baseUrl: string, key: string | undefined) => ({
  baseUrl,
  key,
  client: createClient({ baseUrl, ...(key !== undefined && { key }) }),
})

function addressIn(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new BadUsage(`"${text}" is no address of a server, as http://127.0.0.1:8000 is`)
  return url.href.replace(/\/+$/, '')
}

function givenKey(io: Io, where: Where): string | undefined {
  const path = where['key-file']
  if (where.key !== undefined || path === undefined) return where.key ?? (io.env.GANTRY_KEY || undefined)
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new BadUsage(`--key-file: ${(error as Error).message}`)
  }
}

/** On a free port of loopback, and quiet. */
const MOMENTARY = ['--host=127.0.0.1', '--port=0']

/** As a server would be configured here. */
export async function configFor(io: Io, { data, config, workspace }: Where, more: string[] = []): Promise<Config> {
  const { readConfig } = await import('../config.ts')
  const given = { data, config, workspace }
  const argv = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]))
  return (readConfig([...more, ...argv], io.env) as { config: Config }).config
}

/** A server in this process. */
export async function start(io: Io, where: Where): Promise<Server> {
  const config = await configFor(io, where, MOMENTARY)
  const app = await io.startApp(config, makeLog(config.log_level ?? 'error', io.log)).catch(async error => {
    throw new Failure((await import('./serve.ts')).explainStart(error, config))
  })
  if (app.warning) say(io.stderr, styleOf(io.stderr, io.env).yellow(`WARNING: ${app.warning}`))
  return {
    ...reached(app.url, config.session_api_keys[0] ?? keyIn(config.data)),
    isOurs: true,
    [Symbol.asyncDispose]: () => app.close(),
  }
}
