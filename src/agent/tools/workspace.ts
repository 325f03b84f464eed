import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { type ErrorCode, Fault } from '../../api/errors.ts'
import { type FileInfo, Files, PATIENCE_MS } from '../../sandbox/files.ts'
import { run } from '../../sandbox/run.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Hands } from '../tool.ts'
import { RECORD_BYTES, TEXT_BYTES } from './file-limits.ts'
import { Refused } from './refused.ts'
import { decode, encode, type Text } from './text.ts'

/** What the files themselves are the reason of; anything else that fails is the sandbox's failure and nobody's argument. */
const OF_THE_FILES: ReadonlySet<ErrorCode> = new Set([
  'bad_request',
  'file_not_found',
  'directory_not_found',
  'not_a_file',
  'not_a_directory',
  'outside_workspace',
  'permission_denied',
  'file_too_large',
  'storage_full',
])

/** Does the work of a tool: what it refuses, or the files do, is told. Rejects with the reason of the signal once that is aborted. */
export async function attempt<T, R>(
  hands: Hands,
  work: (files: Workspace) => Promise<T>,
  refused: (why: string) => R,
): Promise<T | R> {
  try {
    hands.signal.throwIfAborted()
    return await work(new Workspace(await hands.sandbox(), hands))
  } catch (error) {
    hands.signal.throwIfAborted()
    if (error instanceof Refused) return refused(error.message)
    if (error instanceof Fault && OF_THE_FILES.has(error.code)) return refused(error.message)
    throw error
  }
}

/** A file as it was read. */
export interface Read {
  bytes: Buffer
  info: FileInfo
}

/** The files of a conversation, as its tools reach them. Every path in the answers is absolute. */
export class Workspace {
  readonly sandbox: Sandbox
  readonly signal: AbortSignal
  readonly #files: Files
  readonly #workingDir: string

  constructor(sandbox: Sandbox, { workingDir, signal }: Pick<Hands, 'workingDir' | 'signal'>) {
    this.sandbox = sandbox
    this.signal = signal
    this.#files = new Files(sandbox)
    this.#workingDir = workingDir
  }

  resolve(path: string): string {
    return posix.resolve(this.#workingDir, path)
  }

  stat(path: string): Promise<FileInfo> {
    return named(path, this.#files.stat(path))
  }

  /** Undefined when there is nothing, nor anything on the way there. */
  async look(path: string): Promise<FileInfo | undefined> {
    try {
      return await this.#files.stat(path)
    } catch (error) {
      if (error instanceof Fault && error.code === 'file_not_found') return undefined
      throw error
    }
  }

  /** A whole file. */
  async read(path: string): Promise<Read> {
    const file = await named(path, this.#files.open(path, { signal: this.signal }))
    if (file.size > TEXT_BYTES) {
      file.close()
      throw new Refused(tooLarge(path, file.size))
    }
    const chunks: Buffer[] = []
    // Files of the kernel's have more in them than their size says.
    for await (const chunk of file.read(0, TEXT_BYTES + 1)) chunks.push(chunk)
    this.signal.throwIfAborted()
    const bytes = Buffer.concat(chunks)
    if (bytes.length > TEXT_BYTES) throw new Refused(tooLarge(path, bytes.length))
    if (bytes.length < file.size) throw new Refused(`${path} changed while it was read. Try again.`)
    return { bytes, info: file }
  }

  async readText(path: string): Promise<Text & Read> {
    const read = await this.read(path)
    return { ...textIn(path, read.bytes), ...read }
  }

  /** What a file that is about to be replaced holds; undefined when it is too large to be kept, or may not be read. */
  async peek(path: string): Promise<Buffer | undefined> {
    try {
      return (await this.read(path)).bytes
    } catch (error) {
      if (error instanceof Refused || (error instanceof Fault && error.code === 'permission_denied')) return undefined
      throw error
    }
  }

  async isLink(path: string): Promise<boolean> {
    const command = { argv: ['/bin/sh', '-c', '[ -L "$1" ]', 'link', path], cwd: '/', timeoutMs: PATIENCE_MS } as const
    return (await run(this.sandbox, command, { limit: 4096 })).code === 0
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    await named(path, this.#files.write(path, only(bytes), this.signal))
  }

  /** Puts back what was there. That is done even when nobody wants the rest any more. */
  async restore(path: string, { bytes, mode }: { bytes: Uint8Array; mode: number }): Promise<void> {
    await this.#files.write(path, only(bytes))
    await this.setMode(path, mode)
  }

  /** Gives back what was written. */
  async writeText(path: string, text: Text): Promise<Buffer> {
    const bytes = encoded(path, text)
    await this.write(path, bytes)
    return bytes
  }

  /** Removes a file, or a link and not what it leads to. */
  async remove(path: string): Promise<void> {
    await this.#change(path, ['rm', '-f', '--', path])
  }

  async setMode(path: string, mode: number): Promise<void> {
    await this.#change(path, ['chmod', mode.toString(8), path])
  }

  async #change(path: string, argv: [string, ...string[]]): Promise<void> {
    const { code, stderr } = await run(this.sandbox, { argv, cwd: '/', timeoutMs: PATIENCE_MS }, { limit: 4096 })
    if (code !== 0) throw new Refused(`${path}: ${stderr.toString().trim() || `${argv[0]} failed (${code})`}`)
  }
}

async function* only(bytes: Uint8Array) {
  yield bytes
}

/** The text of these bytes; refuses what is none. */
export function textIn(path: string, bytes: Buffer): Text {
  const text = decode(bytes)
  if (!text)
    throw new Refused(`${path} is not a text file (${bytes.length} bytes). Use a program that knows its format.`)
  return text
}

/** The bytes of a text; refuses what its encoding cannot hold. */
export function encoded(path: string, text: Text): Buffer {
  const bytes = encode(text)
  if (!bytes) throw new Refused(`${path} is in ${text.encoding}, which does not have every character of the new text.`)
  if (bytes.length > TEXT_BYTES) throw new Refused(`${path} would become larger than ${TEXT_BYTES} bytes.`)
  return bytes
}

/** What was before and after a change, as an event may hold it: both, or neither. */
export function recorded(before: string | null, after: string | null): [string | null, string | null] {
  return Buffer.byteLength(JSON.stringify([before, after])) > RECORD_BYTES ? [null, null] : [before, after]
}

export const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64')

const tooLarge = (path: string, size: number): string =>
  `${path} has ${size} bytes or more; at most ${TEXT_BYTES} can be read here. ` +
  `Look at a part of it with sed, head, tail or grep in a terminal, and change it with a script.`

/** Says which file it was. */
async function named<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Fault && OF_THE_FILES.has(error.code) && !error.message.includes(path))
      throw new Fault(error.code, `${error.message}: ${path}`)
    throw error
  }
}
