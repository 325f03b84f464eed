import { randomBytes } from 'node:crypto'
import { drained } from '../../../sandbox/run.ts'
import type { Egress, Exit, Process, Sandbox } from '../../../sandbox/sandbox.ts'
import { Capture } from './capture.ts'
import { INTERRUPT } from './keys.ts'
import { type Mark, Marks } from './marks.ts'
import { asking, ENVIRONMENT, FEED, KILL_FOREGROUND, opening, running, START } from './script.ts'
import { OutputFolder } from './stored-output.ts'
import { within } from './waiting.ts'

/** Wide, for programs cut their lines to it. */
const SIZE = { columns: 200, rows: 50 }

/** How long to wait for one that was killed: where it is frozen it only dies later. */
const END_MS = 2_000

export interface ShellOptions {
  conversation: string
  /** Made if it is not there. */
  cwd: string
  egress: Egress | undefined
  /** Whether it reads what a person put into the file for interactive shells. */
  profile: boolean
}

/** What became of a command. */
export interface Outcome {
  code: number
  /** What it printed since that was last taken. */
  capture: Capture
  /** How the shell itself ended with it. */
  ended: Exit | undefined
}

/** A shell with a terminal, for one command after the other. */
export class Shell {
  readonly sandbox: Sandbox
  readonly outputs: OutputFolder
  pid = -1
  username: string | null = null
  hostname: string | null = null
  workingDir: string
  /** Rather than some other shell. */
  bash = false
  /** How it ended, once it has. */
  ended: Exit | undefined
  /** Called when it prints anything. */
  onHeard: () => void = () => undefined
  readonly #token: string
  readonly #feeder: Process
  readonly #terminal: Process
  readonly #over: Promise<void>
  #outcome: PromiseWithResolvers<Outcome> | undefined
  #number = 0
  #code = 0
  #capture: Capture

  /** How it got ready: `ended` when it did not. */
  readonly begun: Promise<Outcome>

  /** Resolves when there is one, ready or not. It ends with the signal. */
  static async open(sandbox: Sandbox, options: ShellOptions, signal: AbortSignal): Promise<Shell> {
    const pipe = `shell-${options.conversation}-${randomBytes(16).toString('hex')}`
    // The terminal first: it takes longer.
    const [terminal, feeder] = await Promise.all([
      sandbox.exec({
        argv: ['/bin/sh', '-c', START, 'sh', pipe, options.conversation, options.cwd],
        pty: SIZE,
        cwd: '/',
        env: ENVIRONMENT,
        ...(options.egress && { egress: options.egress }),
        label: 'terminal',
        signal,
      }),
      sandbox.exec({ argv: ['/bin/sh', '-c', FEED, 'sh', pipe, options.conversation], cwd: '/', stdin: true, signal }),
    ])
    return new Shell(sandbox, options, feeder, terminal)
  }

  private constructor(sandbox: Sandbox, { cwd, profile }: ShellOptions, feeder: Process, terminal: Process) {
    this.sandbox = sandbox
    this.workingDir = cwd
    this.#token = randomBytes(16).toString('hex')
    this.#feeder = feeder
    this.#terminal = terminal
    this.outputs = new OutputFolder(sandbox, this.#token.slice(0, 8))
    this.#capture = this.#blank()
    const marks = new Marks(
      this.#token,
      bytes => this.#hear(bytes),
      mark => this.#note(mark),
    )
    for (const { stdin, stderr } of [feeder, terminal]) {
      stdin!.on('error', () => undefined)
      stderr.resume()
    }
    feeder.stdout.resume()
    terminal.stdout.on('data', (chunk: Buffer) => marks.write(chunk))
    this.begun = this.#expect()
    this.#over = this.#follow()
    this.#feed(opening(this.#token, profile))
  }

  /** Only when no other runs. Variables are for this command alone. */
  run(command: string, variables: Readonly<Record<string, string>>): Promise<Outcome> {
    this.#number += 1
    const outcome = this.#expect()
    if (this.ended) this.#settle(this.ended.code)
    const about = { token: this.#token, number: this.#number, previous: this.#code }
    this.#feed(running(about, command, variables))
    return outcome
  }

  /** Into whatever reads the terminal. */
  type(keys: string): void {
    this.#terminal.stdin!.write(keys)
    // A shell that an interrupt leads back to its next command may have forgotten that it was to report.
    if (keys.includes(INTERRUPT)) this.#feed(asking(this.#token, this.#number))
  }

  /** What was printed since this was last asked for. */
  take(): Capture {
    const taken = this.#capture
    this.#capture = this.#blank()
    return taken
  }

  /** Ends the program that runs, and spares the shell. */
  async killForeground(): Promise<void> {
    const argv = ['/bin/sh', '-c', KILL_FOREGROUND, 'sh', `${this.pid}`] as const
    const killing = await this.sandbox.exec({ argv, cwd: '/' })
    killing.stdout.resume()
    killing.stderr.resume()
    await killing.exit
  }

  /** Ends it with everything it started, also what outlived it. */
  async end(): Promise<void> {
    await Promise.allSettled([this.#terminal.signal('SIGKILL'), this.#feeder.signal('SIGKILL')])
    await within(END_MS, this.#over)
    this.#capture.discard()
  }

  #expect(): Promise<Outcome> {
    this.#outcome = Promise.withResolvers()
    return this.#outcome.promise
  }

  async #follow(): Promise<void> {
    const exit = await this.#terminal.exit
    await drained(this.#terminal, this.#terminal.stdout)
    this.ended = exit
    this.#feeder.stdin!.end()
    this.#settle(exit.code)
  }

  #feed(lines: string): void {
    this.#feeder.stdin!.write(lines)
  }

  #blank(): Capture {
    return new Capture(() => this.outputs.next())
  }

  #hear(bytes: Buffer): void {
    this.onHeard()
    const full = this.#capture.write(bytes)
    if (!full) return
    this.#terminal.stdout.pause()
    void full.then(() => this.#terminal.stdout.resume())
  }

  #note({ number, code, text }: Mark): void {
    // Most commands report twice, and what is printed after the first report is not theirs.
    if (number !== this.#number || !this.#outcome) return
    if (number === 0) {
      const [, pid, bash, username, hostname, directory] = /^(\d+);(\w*);([^;]*);([^;]*);(.*)$/s.exec(text) ?? []
      this.pid = Number(pid)
      this.bash = bash !== ''
      this.username = username || null
      this.hostname = hostname || null
      this.workingDir = directory ?? this.workingDir
    } else this.workingDir = text || this.workingDir
    this.#code = code
    this.#settle(code)
  }

  #settle(code: number): void {
    if (this.#outcome) this.#outcome.resolve({ code, capture: this.take(), ended: this.ended })
    this.#outcome = undefined
  }
}
