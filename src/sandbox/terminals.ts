import { posix } from 'node:path'
import { fault } from '../api/errors.ts'
import type { Exit, Process, Reach, Size } from './sandbox.ts'

/** Open at once, on the whole server: far more than people look at, and few enough that all of them may flood. */
export const TERMINALS_AT_ONCE = 32
/** Typed, but not read by anything yet: a large paste. In bytes. */
const UNREAD_BYTES = 1024 * 1024
/** How long terminals may take to end when the server stops. */
const CLOSE_MS = 4_000

/** `$2` is set where the folder is to be made. */
const SHELL = `[ -z "$2" ] || mkdir -p -- "$1"
cd -- "$1" || exit 126
command -v bash >/dev/null && exec bash -i
exec sh -i`

export interface TerminalOrder {
  /** The default sandbox unless named. */
  sandbox: string | undefined
  /** Where its shell starts: each is relative to the one before, the first to the sandbox's working directory. */
  folders: readonly string[]
  /** Whether the last is made if it is missing. */
  makes: boolean
  size: Size
}

/** Takes what a terminal prints. Nothing more is read of it before this resolves. */
export type Tell = (text: string) => Promise<void>

/** Shells for people, in terminals of their own. */
export class Terminals {
  readonly #reach: Reach
  readonly #stop = new AbortController()
  /** Those that run or are about to: each until it is over. */
  readonly #taken = new Set<Promise<unknown>>()

  constructor(reach: Reach) {
    this.#reach = reach
  }

  /** It ends with the signal, and with it all that was started in it. */
  async open(order: TerminalOrder, tell: Tell, signal: AbortSignal): Promise<Terminal> {
    if (this.#taken.size >= TERMINALS_AT_ONCE) throw fault('terminal_limit', TERMINALS_AT_ONCE)
    const opening = this.#start(order, tell, AbortSignal.any([signal, this.#stop.signal]))
    const over: Promise<unknown> = opening
      .then(({ ended }) => ended)
      .catch(() => undefined)
      .finally(() => this.#taken.delete(over))
    this.#taken.add(over)
    return opening
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('The server stops'))
    let impatience: NodeJS.Timeout | undefined
    const enough = new Promise(resolve => {
      impatience = setTimeout(resolve, CLOSE_MS)
    })
    await Promise.race([Promise.all(this.#taken), enough])
    clearTimeout(impatience)
  }

  async #start({ sandbox: id, folders, makes, size }: TerminalOrder, tell: Tell, signal: AbortSignal) {
    const sandbox = await this.#reach(id)
    const folder = posix.resolve(sandbox.workingDir, ...folders)
    const shell = await sandbox.exec({
      argv: ['/bin/sh', '-c', SHELL, 'sh', folder, makes ? 'makes' : ''],
      cwd: '/',
      pty: size,
      signal,
      label: 'terminal',
    })
    // An interactive shell does not heed the signal that ends commands, but hangs up with its terminal.
    signal.addEventListener('abort', () => void shell.signal('SIGHUP').catch(() => undefined), { once: true })
    return new Terminal(shell, tell)
  }
}

/** One of them. */
export class Terminal {
  /** When its shell has ended, and all that it printed was told. Never rejects. */
  readonly ended: Promise<Exit>
  readonly #shell: Process
  /** The size that it is to have and was not given yet. */
  #wanted: Size | undefined
  #fitting = false

  constructor(shell: Process, tell: Tell) {
    this.#shell = shell
    shell.stdin!.on('error', () => undefined)
    shell.stderr.resume()
    this.ended = this.#follow(tell)
  }

  /** Refuses what nothing would read: waiting for it would hold back the keys that end what does not read. */
  type(keys: string): void {
    const stdin = this.#shell.stdin!
    if (stdin.writableLength > UNREAD_BYTES) throw fault('terminal_full')
    if (stdin.writable) stdin.write(keys)
  }

  /** Sooner or later it has the last size that was asked for. */
  async resize(size: Size): Promise<void> {
    this.#wanted = size
    if (this.#fitting) return
    this.#fitting = true
    while (this.#wanted) {
      const next = this.#wanted
      this.#wanted = undefined
      await this.#shell.resize(next).catch(() => undefined)
    }
    this.#fitting = false
  }

  async #follow(tell: Tell): Promise<Exit> {
    const { stdout, exit } = this.#shell
    const telling = this.#tell(stdout.setEncoding('utf8'), tell)
    const ending = await exit
    // What it left in the background would print where nobody reads, and hold the stream open.
    await this.#shell.signal('SIGKILL').catch(() => undefined)
    await telling
    return ending
  }

  async #tell(texts: AsyncIterable<string>, tell: Tell): Promise<void> {
    try {
      for await (const text of texts) await tell(text)
    } catch {
      // It went away under its reader: how it ended says so.
    }
  }
}
