import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import { type Fault, fault } from '../api/errors.ts'
import { FOUND, LIST_SCRIPT, MAKE_DIRECTORY_SCRIPT, READ_SCRIPT, STAT_SCRIPT, WRITE_SCRIPT } from './file-scripts.ts'
import { drained, run } from './run.ts'
import type { Process, Sandbox } from './sandbox.ts'

/** What the kernel takes as one path, and as one name in it. In bytes. */
const PATH_BYTES = 4095
const NAME_BYTES = 255
/** What a listing may come to: about a hundred thousand names. */
const LISTING_BYTES = 8 * 1024 * 1024
/** Small questions, and the first word of long answers: past it something inside hangs, such as a file system of the agent's. */
export const PATIENCE_MS = 30_000
const COMPLAINT_BYTES = 4096

export interface FileInfo {
  kind: 'file' | 'directory' | 'other'
  size: number
  /** Permission bits. */
  mode: number
  /** Unix seconds. */
  modified: number
  /** Differs whenever the content may: from inode, size and times, to the nanosecond where the file system has them. */
  version: string
}

export interface Entry {
  name: string
  kind: 'file' | 'directory' | 'link' | 'other'
}

/** A file that is open: one of `read` and `close` must be called. */
export interface OpenFile extends FileInfo {
  path: string
  /** So many bytes from there on. Shorter only when the file shrank meanwhile, or the sandbox went away. */
  read(from: number, count: number): Readable
  close(): void
}

/**
 * The files of a sandbox, reached from inside it, one command an operation. Paths are absolute, and `..` in them is taken by
 * the letter, before any link is followed. With `roots`, by default the sandbox's, whatever leads out of them is refused as
 * `outside_workspace`.
 */
export class Files {
  readonly #sandbox: Sandbox
  readonly #roots: readonly string[]

  constructor(sandbox: Sandbox, roots: readonly string[] = sandbox.roots ?? []) {
    this.#sandbox = sandbox
    this.#roots = roots.map(cleanPath)
  }

  get home(): string {
    return this.#sandbox.home
  }

  async stat(path: string): Promise<FileInfo> {
    const clean = cleanPath(path)
    const line = await this.#ask(STAT_SCRIPT, [clean], { path: clean, missing: 'file_not_found' })
    return parseInfo(line.toString('latin1'))
  }

  /** Whatever stands in a directory, in no order. Names that are no UTF-8 are left out: nobody could ask for them. */
  async list(path: string): Promise<Entry[]> {
    const clean = cleanPath(path)
    const listing = await this.#ask(LIST_SCRIPT, [clean], { path: clean, missing: 'directory_not_found' })
    const decoder = new TextDecoder('utf-8', { fatal: true })
    const entries: Entry[] = []
    for (let start = 0, end = listing.indexOf(0); end >= 0; start = end + 1, end = listing.indexOf(0, start)) {
      try {
        const name = decoder.decode(listing.subarray(start + 1, end))
        entries.push({ name, kind: KINDS[String.fromCharCode(listing[start]!)] ?? 'other' })
      } catch {}
    }
    return entries
  }

  async makeDirectory(path: string): Promise<void> {
    const clean = cleanPath(path)
    await this.#ask(MAKE_DIRECTORY_SCRIPT, [clean], { path: clean, missing: 'directory_not_found' })
  }

  /** Opens a file; with `index`, of a directory its `index.html`. */
  async open(
    path: string,
    { index = false, signal }: { index?: boolean; signal?: AbortSignal } = {},
  ): Promise<OpenFile> {
    const clean = cleanPath(path)
    const ending = new AbortController()
    const signals = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal
    const child = await this.#exec(READ_SCRIPT, [clean, index ? INDEX : ''], { stdin: true, signal: signals })
    const complaint = listen(child)
    const line = await firstLine(child, ending)
    if (line === undefined)
      throw refusal(this.#sandbox, clean, 'file_not_found', (await child.exit).code, await complaint)
    const [found, ...facts] = line.split(' ')
    const info = parseInfo(facts.join(' '))
    if (info.kind !== 'file') {
      ending.abort()
      throw fault('not_a_file')
    }
    return {
      ...info,
      path: found === INDEX ? posix.join(clean, INDEX) : clean,
      read: (from, count) => {
        child.stdin!.end(`${from} ${count}\n`)
        child.stdout.once('close', () => child.stdout.readableEnded || ending.abort())
        return child.stdout
      },
      close: () => {
        child.stdin!.end()
        child.stdout.destroy()
      },
    }
  }

  /** All of a file, if it is no larger than so many bytes. */
  async read(path: string, limit: number): Promise<Buffer> {
    const file = await this.open(path)
    if (file.size > limit) {
      file.close()
      throw fault('file_too_large', limit)
    }
    return Buffer.concat(await file.read(0, file.size).toArray())
  }

  /**
   * Writes a file whole or not at all: parents are made, a link's target is written, permissions are kept. When the source
   * fails, its error is thrown and everything is as before.
   */
  async write(path: string, source: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    const clean = cleanPath(path)
    if (clean === '/') throw fault('not_a_file')
    const token = randomBytes(24).toString('base64url')
    const child = await this.#exec(WRITE_SCRIPT, [clean, token], { stdin: true, ...(signal && { signal }) })
    const complaint = listen(child)
    child.stdout.resume()
    let failure: { error: unknown } | undefined
    try {
      if (await feed(child, source)) child.stdin!.end(token)
    } catch (error) {
      failure = { error }
    }
    child.stdin!.end()
    const { code } = await child.exit
    if (failure) throw failure.error
    if (code !== 0) throw refusal(this.#sandbox, clean, 'file_not_found', code, await complaint)
  }

  async #ask(script: string, args: string[], { path, missing }: { path: string; missing: Missing }): Promise<Buffer> {
    const command = { argv: this.#argv(script, args), cwd: '/', timeoutMs: PATIENCE_MS } as const
    const { code, stdout, stderr, overflow } = await run(this.#sandbox, command, { limit: LISTING_BYTES })
    if (overflow) throw fault('file_too_large', LISTING_BYTES)
    if (code !== 0) throw refusal(this.#sandbox, path, missing, code, stderr.toString('latin1'))
    return stdout
  }

  #exec(script: string, args: string[], options: { stdin?: boolean; signal?: AbortSignal }): Promise<Process> {
    return this.#sandbox.exec({ argv: this.#argv(script, args), cwd: '/', ...options })
  }

  #argv(script: string, args: string[]): [string, ...string[]] {
    return ['/bin/sh', '-c', script, 'files', ...args, ...this.#roots]
  }
}

const INDEX = 'index.html'

type Missing = 'file_not_found' | 'directory_not_found'

const KINDS: Record<string, Entry['kind']> = { f: 'file', d: 'directory', l: 'link' }

/** The one way a path is written: absolute, without `.`, `..`, doubled or trailing slashes. */
export function cleanPath(path: string): string {
  if (path.includes('\0')) throw fault('bad_request', 'A path cannot hold a NUL character')
  // What stands where bytes were that are no UTF-8: it would name another file than was meant.
  if (path.includes('\ufffd') || !path.isWellFormed()) throw fault('bad_request', 'Path must be UTF-8')
  if (!path.startsWith('/')) throw fault('path_not_absolute')
  const clean = posix.resolve(path)
  if (Buffer.byteLength(clean) > PATH_BYTES || clean.split('/').some(name => Buffer.byteLength(name) > NAME_BYTES))
    throw fault('bad_request', 'Path is too long')
  return clean
}

/** What tools say in the C locale, as the kernel's errors are called there. */
const COMPLAINTS: [RegExp, (path: string) => Fault][] = [
  [/No space left on device|Disk quota exceeded|ENOSPC/, () => fault('storage_full')],
  [
    /Permission denied|Read-only file system|not permitted|nonexistent|No such file/,
    path => fault('permission_denied', path),
  ],
  [/File too large/, () => fault('storage_full')],
  [/File name too long|Too many levels of symbolic links/, () => fault('bad_request', 'Path is too long')],
  [/Not a directory|File exists/, () => fault('not_a_directory')],
]

/** What a script's end means to whoever asked. */
export function refusal({ id }: Sandbox, path: string, missing: Missing, code: number, complaint: string): Fault {
  switch (code) {
    case FOUND.missing:
      return fault(missing)
    case FOUND.notFile:
      return fault('not_a_file')
    case FOUND.notDirectory:
      return fault('not_a_directory')
    case FOUND.denied:
      return fault('permission_denied', path)
    case FOUND.outside:
      return fault('outside_workspace')
    case FOUND.taken:
      return fault('bad_request', 'Path is not an empty directory')
    case FOUND.cut:
      return fault('bad_request', 'The content ended too early')
  }
  const known = COMPLAINTS.find(([words]) => words.test(complaint))
  if (known) return known[1](path)
  // A signal from elsewhere: it was stopped, ran out of memory or of patience.
  if (code > 128) return fault('sandbox_unavailable', id, 'not answering: it was stopped, or took too long')
  const why = complaint.trim().split('\n').at(-1)?.slice(0, 300)
  return fault('sandbox_failed', `The sandbox could not do that (${code})${why ? `: ${why}` : ''}`)
}

/** What it complains of, once it has ended. */
export async function listen(child: Process): Promise<string> {
  let text = ''
  child.stderr.setEncoding('latin1').on('data', chunk => {
    if (text.length < COMPLAINT_BYTES) text += chunk
  })
  await child.exit
  await drained(child, child.stderr)
  return text
}

/** The first line it prints, which is all it prints until it is told more; undefined when it ends without one. */
async function firstLine(child: Process, ending: AbortController): Promise<string | undefined> {
  const timer = setTimeout(() => ending.abort(), PATIENCE_MS)
  let text = ''
  try {
    while (!text.includes('\n')) {
      const chunk: Buffer | null = child.stdout.read()
      if (chunk) text += chunk.toString('latin1')
      else if (child.stdout.readableEnded || child.stdout.destroyed) return undefined
      else await new Promise(resolve => ['readable', 'end', 'close'].map(event => child.stdout.once(event, resolve)))
    }
    return text.slice(0, text.indexOf('\n'))
  } finally {
    clearTimeout(timer)
  }
}

function parseInfo(line: string): FileInfo {
  const [type, size, inode, modified, mode, ...times] = line.trim().split(' ')
  const format = Number.parseInt(type!, 16) & 0o170000
  return {
    kind: format === 0o100000 ? 'file' : format === 0o040000 ? 'directory' : 'other',
    size: Number(size),
    mode: Number.parseInt(mode!, 8),
    modified: Number(modified),
    version: [inode, size, ...times].join('-').replaceAll(/[^\w.-]/g, ''),
  }
}

/** False when the process ended, or closed its ears, before it had everything. */
export async function feed(child: Process, source: AsyncIterable<Uint8Array>): Promise<boolean> {
  const stdin = child.stdin!
  let deaf = false
  const ended = child.exit.then(() => {
    deaf = true
  })
  stdin.on('error', () => {
    deaf = true
  })
  for await (const chunk of source) {
    if (deaf) return false
    if (!stdin.write(chunk)) await Promise.race([once(stdin, 'drain').catch(() => undefined), ended])
  }
  return !deaf
}
