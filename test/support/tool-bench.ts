import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hands, Tool } from '../../src/agent/tool.ts'
import { Action } from '../../src/api/actions.ts'
import { Observation } from '../../src/api/observations.ts'
import { newId } from '../../src/lib/id.ts'
import { LocalBackend } from '../../src/sandbox/local.ts'
import { run } from '../../src/sandbox/run.ts'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { NOBODY, PRIVILEGED } from './inside.ts'
import { tempFolder } from './server.ts'

/** What an event may be. */
const EVENT_BYTES = 256 * 1024

type Of<K> = Extract<Observation, { kind: K }>

/** A sandbox for tools, without a server. */
export class ToolBench implements AsyncDisposable {
  readonly backend: LocalBackend
  readonly sandbox: Sandbox
  readonly #data: string

  static async open(): Promise<ToolBench> {
    const data = await tempFolder()
    const backend = await LocalBackend.open({
      folder: join(data, 'sandboxes'),
      shared: join(data, 'hands'),
      owner: newId().slice(0, 8),
      user: PRIVILEGED ? { uid: NOBODY, gid: NOBODY } : { uid: process.getuid!(), gid: process.getgid!() },
      privileged: PRIVILEGED,
    })
    await backend.start({
      id: 'box',
      workingDir: '/workspace',
      env: {},
      limits: { memoryBytes: 1e9, processes: 200, cpus: 2, diskBytes: 1e9 },
      egress: { mode: 'none' },
      grants: [],
    })
    return new ToolBench(backend, data)
  }

  private constructor(backend: LocalBackend, data: string) {
    this.backend = backend
    this.sandbox = backend.sandbox('box')
    this.#data = data
  }

  /** A folder of its own to work in. */
  async desk(more: Partial<Hands> = {}): Promise<Desk> {
    const workingDir = `/workspace/${newId()}`
    await this.sh(`mkdir -p ${workingDir}`)
    return new Desk(this, workingDir, more)
  }

  /** What a script that must succeed printed, byte by byte. */
  async sh(script: string, input?: string | Uint8Array, cwd = '/workspace'): Promise<Buffer> {
    const command: Command = { argv: ['/bin/sh', '-c', script], cwd, timeoutMs: 60_000 }
    const ended = await run(this.sandbox, command, { limit: 64e6, ...(input !== undefined && { input }) })
    assert.equal(ended.code, 0, `${script}: ${ended.stderr}`)
    return ended.stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend.remove('box')
    await this.backend.close()
    await rm(this.#data, { recursive: true, force: true })
  }
}

/** Where a conversation works, and its hands. */
export class Desk {
  readonly folder: string
  readonly hands: Hands
  readonly #bench: ToolBench

  constructor(bench: ToolBench, folder: string, more: Partial<Hands>) {
    this.#bench = bench
    this.folder = folder
    this.hands = {
      conversation: newId(),
      sandbox: async () => bench.sandbox,
      workingDir: folder,
      secretsFor: async () => ({}),
      egress: undefined,
      signal: new AbortController().signal,
      ...more,
    }
  }

  /** What a tool made of these arguments. Whatever it says must be what events may hold. */
  async call<K extends Observation['kind']>(tool: Tool, args: Record<string, unknown>, kind: K): Promise<Of<K>> {
    const action = tool.understand(args)
    assert.deepEqual(Action.parse(action), action)
    const observed = await tool.run(action, this.hands)
    assert.deepEqual(Observation.parse(observed), observed)
    assert.equal(observed.kind, kind)
    const size = Buffer.byteLength(JSON.stringify(observed))
    assert.ok(size < EVENT_BYTES, `an observation of ${size} bytes`)
    return observed as Of<K>
  }

  sh(script: string, input?: string | Uint8Array): Promise<Buffer> {
    return this.#bench.sh(script, input, this.folder)
  }

  /** A file, made without any tool. */
  async put(name: string, content: string | Uint8Array): Promise<void> {
    const quoted = `'${name.replaceAll("'", `'\\''`)}'`
    await this.sh(`mkdir -p -- "$(dirname -- ${quoted})" && cat > ./${quoted}`, content)
  }

  get(name: string): Promise<Buffer> {
    return this.sh(`cat ./'${name.replaceAll("'", `'\\''`)}'`)
  }
}

export const textOf = ({ content }: Observation): string =>
  content.map(part => (part.type === 'text' ? part.text : '')).join('')
