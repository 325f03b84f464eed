import { once } from 'node:events'
import { posix } from 'node:path'
import type { Process, Sandbox } from '../../../sandbox/sandbox.ts'
import { STORED_BYTES, STORED_OUTPUTS } from './limits.ts'

/** Stores its input. Arguments: the folder, the file, one that is not needed any more. */
const STORE = 'umask 077; mkdir -p -- "$1" && rm -f -- "$3" && exec cat >"$2"'

/** Where a terminal stores what is too long to be read at once: files in its sandbox, the last few of them. */
export class OutputFolder {
  readonly path: string
  readonly #sandbox: Sandbox
  #count = 0

  constructor(sandbox: Sandbox, name: string) {
    this.#sandbox = sandbox
    this.path = posix.join(sandbox.home, '.cache', 'terminal-output', name)
  }

  next(): StoredOutput {
    this.#count += 1
    const [file, old] = [this.#count, this.#count - STORED_OUTPUTS].map(number =>
      posix.join(this.path, `${number}.txt`),
    )
    return new StoredOutput(this.#sandbox, this.path, file!, old!)
  }
}

/** One output on its way into a file. */
export class StoredOutput {
  readonly #file: string
  readonly #abort = new AbortController()
  /** Undefined when it could not even be started. */
  readonly #cat: Promise<Process | undefined>
  #written = 0

  constructor(sandbox: Sandbox, folder: string, file: string, old: string) {
    this.#file = file
    const argv = ['/bin/sh', '-c', STORE, 'sh', folder, file, old] as const
    this.#cat = sandbox.exec({ argv, cwd: '/', stdin: true, signal: this.#abort.signal }).then(
      cat => {
        for (const stream of [cat.stdout, cat.stderr]) stream.resume()
        cat.stdin!.on('error', () => undefined)
        return cat
      },
      () => undefined,
    )
  }

  /** Resolves when more can be taken. */
  async write(bytes: Buffer): Promise<void> {
    const part = bytes.subarray(0, Math.max(0, STORED_BYTES - this.#written))
    this.#written += bytes.length
    const cat = await this.#cat
    if (!cat || part.length === 0 || cat.stdin!.destroyed || cat.stdin!.write(part)) return
    await Promise.race([once(cat.stdin!, 'drain').catch(() => undefined), cat.exit])
  }

  /** Resolves when it is in the file, as far as it can be. */
  async finish(): Promise<{ file: string | undefined; note: string }> {
    const cat = await this.#cat
    cat?.stdin?.end()
    const stored = (await cat?.exit)?.code === 0
    if (!stored) return { file: undefined, note: 'They could not be stored.' }
    const whole = this.#written <= STORED_BYTES
    return {
      file: this.#file,
      note: `${whole ? 'All' : `The first ${STORED_BYTES} bytes`} of the output: ${this.#file}`,
    }
  }

  /** It is not needed after all. */
  discard(): void {
    this.#abort.abort()
  }
}
