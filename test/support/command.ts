import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { GANTRY } from './server.ts'
import { until } from './wait.ts'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface CommandOptions {
  env?: Record<string, string>
  /** The program that runs `dist/gantry.js`; ours, unless told. */
  node?: string
}

/** The command line as a person meets it, with nothing of our own environment but the path. */
export class Command {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''

  constructor(args: string[], { env = {}, node = process.execPath }: CommandOptions = {}) {
    this.process = spawn(node, [GANTRY, ...args], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.process.stdout?.setEncoding('utf8').on('data', chunk => {
      this.stdout += chunk
    })
    this.process.stderr?.setEncoding('utf8').on('data', chunk => {
      this.stderr += chunk
    })
  }

  /** How it ended, once everything it said was heard. One that does not end is killed, and has no code. */
  async ended(ms = 10_000): Promise<Ended> {
    const impatience = setTimeout(() => this.process.kill('SIGKILL'), ms)
    const [code] = await once(this.process, 'close')
    clearTimeout(impatience)
    return { code, stdout: this.stdout, stderr: this.stderr }
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    const found = () => /listens on (\S+)/.exec(this.stdout)?.[1]
    return until('the server listened', () => {
      if (this.process.exitCode !== null && !found()) throw new Error(`It ended: ${this.stderr}`)
      return found()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    this.process.kill('SIGKILL')
    await once(this.process, 'exit')
  }
}

/** Runs it to its end. */
export const gantry = (args: string[], options?: CommandOptions): Promise<Ended> => new Command(args, options).ended()

/** The first program of this name in the path for which `suits` holds. */
export function findProgram(name: string, suits: (path: string) => boolean = () => true): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map(folder => join(folder, name)).find(path => existsSync(path) && suits(path))
}
