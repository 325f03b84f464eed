import { posix } from 'node:path'
import type { BashCommand, BashOutput, ExecuteBashRequest } from '../api/bash.ts'
import { Fault, fault } from '../api/errors.ts'
import type { Log } from '../lib/log.ts'
import type { BashLog } from './bash-log.ts'
import { Output, type Part } from './bash-output.ts'
import type { Exit, Reach, Sandbox } from './sandbox.ts'

/** Commands of one sandbox at a time: more than people and pages start, less than what its memory must hold at worst. */
const COMMANDS_AT_ONCE = 64
/** How long commands may take to end when the server stops; what has not by then is recorded at the next start. */
const CLOSE_MS = 4_000
/** When the end of a command could not be stored: how soon to try again, and how seldom at last. */
const RETRY_MS = 1_000
const RETRY_AT_MOST_MS = 60_000

const SERVER_STOPPED = 'The server stopped while this command was running'

interface Running {
  sandbox: string
  abort: AbortController
  /** Rejects when its end could not be stored. */
  ended: Promise<BashOutput>
}

interface End extends Part {
  exit_code: number
}

/** Runs commands for callers of the API, beside whatever agents do in the same sandbox. */
export class Bash {
  readonly log: BashLog
  readonly #reach: Reach
  readonly #lines: Log
  readonly #running = new Map<string, Running>()
  /** By sandbox, how many there are or are about to be. */
  readonly #taken = new Map<string, number>()
  readonly #retries = new Set<NodeJS.Timeout>()
  #closing = false

  constructor(parts: { bashLog: BashLog; reach: Reach; log: Log }) {
    this.log = parts.bashLog
    this.#reach = parts.reach
    this.#lines = parts.log
  }

  /** Resolves when the command is recorded; it is under way then. */
  async start(scope: string | undefined, request: ExecuteBashRequest): Promise<BashCommand> {
    return (await this.#begin(scope, request)).command
  }

  /** Resolves with its last output, which has all that it printed. */
  async execute(scope: string | undefined, request: ExecuteBashRequest): Promise<BashOutput> {
    const parts: Part[] = []
    const { running } = await this.#begin(scope, request, part => parts.push(part))
    const last = await running.ended
    const whole = (stream: keyof Part) => parts.map(part => part[stream]).join('') + (last[stream] ?? '') || null
    return { ...last, stdout: whole('stdout'), stderr: whole('stderr') }
  }

  /** Resolves when it has ended. False when it had before. */
  async cancel(sandbox: string, id: string): Promise<boolean> {
    const running = this.#running.get(id)
    if (running?.sandbox !== sandbox) {
      if (await this.log.has(sandbox, id)) return false
      throw fault('command_not_found', id)
    }
    running.abort.abort(new Error('The command was cancelled'))
    await running.ended
    return true
  }

  /** After a crash: every command that was running gets its end, so that nobody waits for it in vain. */
  async recover(): Promise<void> {
    const unended = await this.log.unended()
    const end = { exit_code: -1, stdout: '', stderr: `${SERVER_STOPPED}\n` }
    await Promise.allSettled(unended.map(({ sandbox, id, order }) => this.#conclude(sandbox, id, order, end)))
  }

  /** For a sandbox that is removed: ends its commands and forgets what they printed. */
  async forget(sandbox: string): Promise<void> {
    const running = [...this.#running.values()].filter(one => one.sandbox === sandbox)
    for (const { abort } of running) abort.abort(new Error('The sandbox was removed'))
    await Promise.allSettled(running.map(({ ended }) => ended))
    await this.log.clear(sandbox)
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const retry of this.#retries) clearTimeout(retry)
    const running = [...this.#running.values()]
    for (const { abort } of running) abort.abort(new Error(SERVER_STOPPED))
    let impatience: NodeJS.Timeout | undefined
    const enough = new Promise(resolve => {
      impatience = setTimeout(resolve, CLOSE_MS)
    })
    await Promise.race([Promise.allSettled(running.map(({ ended }) => ended)), enough])
    clearTimeout(impatience)
  }

  async #begin(scope: string | undefined, request: ExecuteBashRequest, heard?: (part: Part) => void) {
    const sandbox = await this.#reach(scope)
    if (this.#closing) throw fault('shutting_down')
    const taken = this.#taken.get(sandbox.id) ?? 0
    if (taken >= COMMANDS_AT_ONCE) throw fault('command_limit', COMMANDS_AT_ONCE)
    this.#taken.set(sandbox.id, taken + 1)
    const command = await this.log.command(sandbox.id, request).catch(error => {
      this.#release(sandbox.id)
      throw error
    })
    const abort = new AbortController()
    if (this.#closing) abort.abort(new Error(SERVER_STOPPED))
    const ended = this.#run(sandbox, command, abort.signal, heard).finally(() => {
      this.#running.delete(command.id)
      this.#release(sandbox.id)
    })
    ended.catch(() => undefined)
    const running: Running = { sandbox: sandbox.id, abort, ended }
    this.#running.set(command.id, running)
    return { command, running }
  }

  #release(sandbox: string): void {
    const left = (this.#taken.get(sandbox) ?? 1) - 1
    if (left > 0) this.#taken.set(sandbox, left)
    else this.#taken.delete(sandbox)
  }

  async #run(
    sandbox: Sandbox,
    { id, command, cwd, timeout }: BashCommand,
    signal: AbortSignal,
    heard?: (part: Part) => void,
  ): Promise<BashOutput> {
    let order = 0
    const output = new Output(async part => {
      await this.log.output(sandbox.id, { ...part, command_id: id, order, exit_code: null })
      order += 1
      heard?.(part)
    })
    const directory = cwd === null ? undefined : posix.resolve(sandbox.workingDir, cwd)
    let exit_code = -1
    let why: string | undefined
    try {
      const started = await sandbox.exec({
        argv: ['/bin/sh', '-c', command],
        ...(directory !== undefined && { cwd: directory }),
        env: { AI_AGENT: 'openhands' },
        timeoutMs: timeout * 1000,
        signal,
        label: command,
      })
      const exit = await output.follow(started)
      why = reasonOf(exit, timeout, signal)
      if (why === undefined && exit.code === 126 && directory !== undefined && !(await isFolder(sandbox, directory)))
        why = `Error executing command: no such directory: ${directory}`
      if (why === undefined) exit_code = exit.code
    } catch (error) {
      why = signal.aborted ? signal.reason.message : `Error executing command: ${this.#messageOf(error, id)}`
    }
    const { stdout, stderr } = await output.rest()
    return this.#conclude(sandbox.id, id, order, { exit_code, stdout, stderr: why ? withLine(stderr, why) : stderr })
  }

  #messageOf(error: unknown, command: string): string {
    if (error instanceof Fault) return error.message
    this.#lines.error('bash', { command, error: String(error) })
    return 'internal error'
  }

  /** Stores the end of a command. Should the disk refuse it, the caller is told so and it is tried again until it is there. */
  async #conclude(sandbox: string, id: string, order: number, end: End, wait = RETRY_MS): Promise<BashOutput> {
    try {
      return await this.log.output(sandbox, { ...end, command_id: id, order })
    } catch (error) {
      if (!this.#closing) {
        const retry = setTimeout(() => {
          this.#retries.delete(retry)
          this.#conclude(sandbox, id, order, end, Math.min(wait * 2, RETRY_AT_MOST_MS)).catch(() => undefined)
        }, wait).unref()
        this.#retries.add(retry)
      }
      throw error
    }
  }
}

/** Why it has no exit code of its own. */
function reasonOf({ reason }: Exit, timeout: number, signal: AbortSignal): string | undefined {
  switch (reason) {
    case 'exited':
      return undefined
    case 'timeout':
      return `The command timed out after ${timeout} seconds`
    case 'aborted':
      return signal.reason.message
    case 'lost':
      return 'The sandbox went away while this command was running'
  }
}

/** The same code means that the directory is missing and that the command gave it. */
async function isFolder(sandbox: Sandbox, path: string): Promise<boolean> {
  const test = await sandbox.exec({ argv: ['/bin/sh', '-c', 'test -d "$1"', 'sh', path], timeoutMs: 5_000 })
  test.stdout.resume()
  test.stderr.resume()
  return (await test.exit).code === 0
}

const withLine = (text: string, line: string): string =>
  `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`
