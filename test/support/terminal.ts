import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from './command.ts'
import { GANTRY } from './server.ts'
import { until } from './wait.ts'

/** A reason to skip what needs a terminal, or false. */
export const NO_TERMINAL = findProgram('script') === undefined && 'the program `script` (util-linux) is not installed'

/** The server as a person at a terminal starts it. */
export class Terminal {
  readonly data: string
  readonly #script: ChildProcess
  /** What the terminal shows. */
  shown = ''

  constructor(data: string, env: Record<string, string> = {}) {
    this.data = data
    const line = [process.execPath, GANTRY, '--port', '0', '--data', data].map(word => `'${word}'`).join(' ')
    this.#script = spawn('script', ['-qec', line, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: data, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#script.stdout?.setEncoding('utf8').on('data', chunk => {
      this.shown += chunk
    })
  }

  /** The link that signs a browser in. */
  link(): Promise<string> {
    return until('the terminal showed a link', () => /http:\/\/\S+\/#token=[\w-]+(?=\s)/.exec(this.shown)?.[0])
  }

  /** `script` does not pass signals on: the server itself is told. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = JSON.parse(readFileSync(join(this.data, 'owner.json'), 'utf8')) as { pid: number }
    process.kill(pid, signal)
  }

  /** Ends it, and tells its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#script.exitCode !== null) return this.#script.exitCode
    const ended = once(this.#script, 'exit')
    this.signal(signal)
    const [code] = await ended
    return code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
  }
}
