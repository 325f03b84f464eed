import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { findProgram } from './command.ts'
import { GANTRY } from './server.ts'
import { until } from './wait.ts'

/** A reason to skip what needs a terminal, or false. */
export const NO_TERMINAL = findProgram('script') === undefined && 'the program `script` (util-linux) is not installed'

const COLUMNS = 120
export const CTRL_C = '\x03'
export const CTRL_D = '\x04'

/** A command of ours with a terminal, and somebody who types. */
export class AtTerminal implements AsyncDisposable {
  readonly #script: ChildProcess
  readonly #ended: Promise<unknown>
  /** What the terminal was sent. */
  shown = ''

  constructor(args: string[], env: Record<string, string> = {}) {
    const words = [process.execPath, GANTRY, ...args].map(word => `'${word}'`).join(' ')
    this.#script = spawn('script', ['-qec', `stty cols ${COLUMNS}; exec ${words}`, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#ended = once(this.#script, 'close')
    this.#script.stdout?.setEncoding('utf8').on('data', chunk => {
      this.shown += chunk
    })
  }

  get isOpen(): boolean {
    return this.#script.exitCode === null && this.#script.signalCode === null
  }

  /** The same, without what steers the terminal. */
  get text(): string {
    return stripVTControlCharacters(this.shown).replaceAll('\r', '')
  }

  type(text: string): void {
    this.#script.stdin?.write(text)
  }

  /** Waits until it shows this. */
  async shows(what: RegExp): Promise<void> {
    await until(`the terminal shows ${what}`, () => what.test(this.text)).catch(error => {
      throw new Error(`${error.message}; it shows:\n${this.text}`)
    })
  }

  /** Waits for its end, and tells its exit code. */
  async ended(): Promise<number | null> {
    await this.#ended
    return this.#script.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#script.kill('SIGKILL')
    await this.#ended
  }
}

/** The server as a person at a terminal starts it. */
export class Terminal implements AsyncDisposable {
  readonly data: string
  readonly #terminal: AtTerminal

  constructor(data: string, env: Record<string, string> = {}) {
    this.data = data
    this.#terminal = new AtTerminal(['--port', '0', '--data', data], { HOME: data, ...env })
  }

  get shown(): string {
    return this.#terminal.shown
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
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#terminal.isOpen) this.signal(signal)
    return this.#terminal.ended()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
  }
}
