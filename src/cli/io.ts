import type { Config } from '../config.ts'
import type { Log } from '../lib/log.ts'

/** What a command has of the process it runs in. */
export interface Io {
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  env: Record<string, string | undefined>
  nodeVersion: string
  /** One line to standard error, without making anybody wait. */
  log(line: string): void
  /** Until it is disposed of, a signal does this instead of ending the process. */
  on(signal: Signal, act: () => void): Disposable
  /** What a signal would do; for a terminal that passes Ctrl-C on as a key. */
  raise(signal: Signal): void
  /** Ends the process at once. */
  quit(code: number): never
  startApp(config: Config, log: Log): Promise<OwnServer>
}

/** A server in this process. */
export interface OwnServer {
  url: string
  /** What a person must know about the walls around commands; undefined when they stand. */
  warning: string | undefined
  /** The file with the key that was made; undefined when the key came from outside. */
  keyFile: string | undefined
  /** A link that signs a browser in, once. */
  signInLink(): string
  close(): Promise<void>
}

export type Signal = 'SIGINT' | 'SIGTERM'

/** How a command ended. */
export const exit = { finished: 0, error: 1, usage: 2, stuck: 3, asked: 4, limit: 5, interrupted: 130 } as const

/** What the codes mean to whoever started an agent. */
export const EXIT_CODES: readonly [code: number, meaning: string][] = [
  [exit.finished, 'it finished'],
  [exit.error, 'an error'],
  [exit.usage, 'a wrong command line'],
  [exit.stuck, 'the agent is stuck'],
  [exit.asked, 'it needs an answer'],
  [exit.limit, 'the budget or the steps are used up'],
  [exit.interrupted, 'it was interrupted'],
]

/** What the world refused: one line, and a code. */
export class Failure extends Error {
  readonly code: number

  constructor(message: string, code: number = exit.error) {
    super(message)
    this.code = code
  }
}

export const say = (out: NodeJS.WriteStream, text: string): void => void out.write(`${text}\n`)
