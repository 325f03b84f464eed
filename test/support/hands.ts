import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '../../src/api/client.ts'
import type { SandboxInfo, SandboxStatus } from '../../src/api/sandboxes.ts'
import { type Answer, exchange } from './exchange.ts'
import type { ServerOptions, TestServer } from './server.ts'
import { until } from './wait.ts'

/** Why tests that need walls cannot run here; false where they can. */
export const NO_WALLS: string | false = (() => {
  const rights = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const tries = [
    ['bwrap', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', 'true'],
    ['unshare', ...rights, '--mount', '--pid', '--net', '--fork', 'true'],
  ] as const
  const works = tries.some(([program, ...words]) => spawnSync(program, words, { stdio: 'ignore' }).status === 0)
  return !works && 'neither bwrap nor unshare can isolate anything here'
})()

/** Options for a server with these specs, read from a configuration file. */
export async function withSpecs(
  specs: object[],
  more: Record<string, unknown> = {},
): Promise<ServerOptions & Disposal> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-config-'))
  const file = join(folder, 'config.json')
  await writeFile(file, JSON.stringify({ sandbox_specs: specs, ...more }))
  return { args: ['--config', file], remove: () => rm(folder, { recursive: true, force: true }) }
}

interface Disposal {
  remove(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever the server says; tests look into them
export type Told = Answer & { body: any }

/** A request as it stands, and the answer whatever it is. */
export async function ask(
  { url }: Pick<TestServer, 'url'>,
  method: string,
  path: string,
  { key, body, headers = {} }: { key?: string | null; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Told> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const answer = await exchange(url, {
    method,
    path,
    headers: {
      ...headers,
      ...(key && { 'X-Session-API-Key': key }),
      ...(sent !== undefined && { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(sent)}` }),
    },
    ...(sent !== undefined && { body: sent }),
  })
  const isJson = answer.headers['content-type']?.startsWith('application/json')
  return { ...answer, body: isJson ? JSON.parse(answer.text) : undefined }
}

export const infoOf = async ({ client }: Pick<TestServer, 'client'>, id: string): Promise<SandboxInfo | null> =>
  (await client.batchSandboxes({ query: { id: [id] } }))[0] ?? null

export const inState = (server: Pick<TestServer, 'client'>, id: string, status: SandboxStatus, ms?: number) =>
  until(
    `sandbox ${id} is ${status}`,
    async () => {
      const info = await infoOf(server, id)
      return info?.status === status ? info : undefined
    },
    ms,
  )

/** A sandbox as its own server: what a client with its key makes of it. */
export class Box {
  readonly id: string
  readonly key: string
  /** Calls below the sandbox's own path, with its key. */
  readonly client: Client
  readonly server: TestServer

  static async start(server: TestServer, spec?: string): Promise<Box> {
    const info = await server.client.startSandbox({ query: { sandbox_spec_id: spec } })
    const running = info.status === 'RUNNING' ? info : await inState(server, info.id, 'RUNNING')
    return new Box(server, running)
  }

  constructor(server: TestServer, { id, session_api_key }: SandboxInfo) {
    this.server = server
    this.id = id
    this.key = session_api_key!
    this.client = createClient({ baseUrl: `${server.url}/sandboxes/${id}`, key: this.key })
  }

  /** What a command that must succeed printed. */
  async sh(command: string): Promise<string> {
    const { exit_code, stdout, stderr } = await this.client.executeBashCommand({ body: { command } })
    assert.equal(exit_code, 0, `${command}: ${stderr}`)
    return (stdout ?? '').trim()
  }

  call(action: 'pause' | 'resume' | 'delete'): Promise<Told> {
    const path = `/api/v1/sandboxes/${this.id}`
    return action === 'delete'
      ? ask(this.server, 'DELETE', path, { key: this.server.key })
      : ask(this.server, 'POST', `${path}/${action}`, { key: this.server.key })
  }

  async ok(action: 'pause' | 'resume' | 'delete'): Promise<void> {
    const { status, text } = await this.call(action)
    assert.equal(status, 200, `${action}: ${text}`)
  }

  async status(): Promise<SandboxStatus | undefined> {
    return (await infoOf(this.server, this.id))?.status
  }
}
