import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Ended } from './command.ts'
import { ModelServer, type Script, type Seen, say, type Turn } from './model-server.ts'
import { GANTRY, type TestServer } from './server.ts'

export interface CliOptions {
  /** What is piped into it; nothing, and its end, unless given. */
  input?: string
  /** Whether standard input is left open after that. */
  open?: boolean
  env?: Record<string, string>
  cwd?: string
}

/** A command of the command line, with pipes in place of a terminal. */
export class Cli implements AsyncDisposable {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''

  constructor(args: string[], { input = '', open = false, env = {}, cwd }: CliOptions = {}) {
    this.process = spawn(process.execPath, [GANTRY, ...args], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env },
      stdio: 'pipe',
      ...(cwd && { cwd }),
    })
    this.process.stdout?.setEncoding('utf8').on('data', chunk => {
      this.stdout += chunk
    })
    this.process.stderr?.setEncoding('utf8').on('data', chunk => {
      this.stderr += chunk
    })
    this.process.stdin?.write(input)
    if (!open) this.process.stdin?.end()
  }

  /** How it ended, once everything it said was heard. One that does not end is killed, and has no code. */
  async ended(ms = 20_000): Promise<Ended> {
    const impatience = setTimeout(() => this.process.kill('SIGKILL'), ms)
    const [code] = await once(this.process, 'close')
    clearTimeout(impatience)
    return { code, stdout: this.stdout, stderr: this.stderr }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    this.process.kill('SIGKILL')
    await once(this.process, 'exit')
  }
}

/** Runs one to its end. */
export const cli = (args: string[], options?: CliOptions): Promise<Ended> => new Cli(args, options).ended()

/** The same, for the server of a data folder. */
export const cliOf =
  ({ data }: Pick<TestServer, 'data'>) =>
  (args: string[], options: CliOptions = {}): Promise<Ended> =>
    cli(args, { ...options, env: { GANTRY_DATA: data, ...options.env } })

/** A model of a server, by the name of its profile. Whoever wants a title of it gets one, outside of the script. */
export class ProfileModel implements AsyncDisposable {
  readonly name: string
  readonly model: ModelServer
  /** What the agent asked it. */
  readonly asked: Seen[]

  static async add({ client }: TestServer, name: string, script: Script, llm: object = {}): Promise<ProfileModel> {
    const asked: Seen[] = []
    const turn = (seen: Seen): Turn | Promise<Turn> => {
      if (!seen.body.tools) return say('A title')
      asked.push(seen)
      const found = typeof script === 'function' ? script(seen, asked.length - 1) : script[asked.length - 1]
      if (!found) throw new Error(`script exhausted: question ${asked.length} has no turn`)
      return found
    }
    const model = await ModelServer.start(turn)
    await client.saveProfile({ params: { name }, body: { llm: model.llm({ stream: true, ...llm }) } })
    return new ProfileModel(name, model, asked)
  }

  private constructor(name: string, model: ModelServer, asked: Seen[]) {
    this.name = name
    this.model = model
    this.asked = asked
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.model.close()
  }
}
