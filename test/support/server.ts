import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from '../../src/api/client.ts'
import type { ConversationInfo } from '../../src/api/conversations.ts'
import { endSandboxes } from './sandboxes.ts'
import { until } from './wait.ts'

export interface ServerOptions {
  args?: string[]
  env?: Record<string, string>
  /** Reuse a data folder: its files are then left alone afterwards. */
  data?: string
}

/** A real server in a process of its own, on a free port, with a data folder of its own. */
/** Data folders that tests brought themselves. */
const lent = new Set<string>()
process.once('beforeExit', async () => {
  for (const data of lent) await endSandboxes(data).catch(() => undefined)
})

export class TestServer {
  readonly url: string
  readonly data: string
  /** A key that opens it. */
  readonly key: string
  readonly process: ChildProcess
  /** Calls with the key. */
  readonly client: Client
  /** Calls without. */
  readonly anonymous: Client
  readonly #output: { text: string }
  readonly #ownsData: boolean

  static async start({ args = [], env = {}, data }: ServerOptions = {}): Promise<TestServer> {
    const folder = data ?? (await tempFolder())
    const output = { text: '' }
    const child = spawn(process.execPath, [GANTRY, '--port', '0', '--data', folder, ...args], {
      env: { PATH: process.env.PATH, HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', chunk => {
        output.text += chunk
      })
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', () => {
        const found = /listens on (\S+)/.exec(output.text)?.[1]
        if (found) resolve(found)
      })
      child.once('exit', code => reject(new Error(`The server ended with ${code}: ${output.text}`)))
    })
    const key = env.SESSION_API_KEY ?? env.OH_SESSION_API_KEYS_0 ?? readFileSync(join(folder, 'session-key'), 'utf8')
    return new TestServer({ url, data: folder, key, child, output, ownsData: data === undefined })
  }

  private constructor(parts: {
    url: string
    data: string
    key: string
    child: ChildProcess
    output: { text: string }
    ownsData: boolean
  }) {
    this.url = parts.url
    this.data = parts.data
    this.key = parts.key
    this.process = parts.child
    this.client = createClient({ baseUrl: parts.url, key: parts.key })
    this.anonymous = createClient({ baseUrl: parts.url })
    this.#output = parts.output
    this.#ownsData = parts.ownsData
  }

  /** Everything it printed. */
  get output(): string {
    return this.#output.text
  }

  get pid(): number {
    return this.process.pid!
  }

  /** Waits until nothing runs in a conversation, and tells how it is. */
  atRest(conversation_id: string): Promise<ConversationInfo> {
    return until('the conversation is at rest', async () => {
      const info = await this.client.getConversation({ params: { conversation_id } })
      return info.execution_status === 'running' ? undefined : info
    })
  }

  /** Ends it, and tells how it ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null)
      return this.process.exitCode ?? this.process.signalCode
    const ended = once(this.process, 'exit')
    this.process.kill(signal)
    const [code, by] = await ended
    return code ?? by
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
    // Another server may go on with it; what is left of it then goes when the tests are over.
    if (!this.#ownsData) return void lent.add(this.data)
    await endSandboxes(this.data)
    await rm(this.data, { recursive: true, force: true })
  }
}

export const GANTRY = join(import.meta.dirname, '../../dist/gantry.js')

export const tempFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'gantry-test-'))

/** The least a conversation can be ordered with. Its model needs no network, and nobody names it. */
export const anOrder = (more: object = {}) => ({
  agent: { kind: 'Agent' as const, llm: { model: 'demo/guide' } },
  workspace: { working_dir: '/workspace' },
  autotitle: false,
  ...more,
})

export const aMessage = (text: string, run = false) => ({
  role: 'user' as const,
  content: [{ type: 'text' as const, text }],
  run,
})

/** Whether the long form of a test was asked for. */
export const DEEP = process.env.GANTRY_TEST_DEEP === '1'

/** A number for each tier. */
export const count = ({ sample, deep }: { sample: number; deep: number }): number => (DEEP ? deep : sample)
