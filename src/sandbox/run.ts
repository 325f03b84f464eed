import type { Readable } from 'node:stream'
import { fault } from '../api/errors.ts'
import type { Command, Exit, Process, Sandbox } from './sandbox.ts'

export interface Outcome extends Exit {
  stdout: Buffer
  stderr: Buffer
  /** Output went on beyond the limit: the command was ended. */
  overflow: boolean
}

export interface RunOptions {
  /** Written to its standard input. */
  input?: string | Uint8Array
  /** Of each stream, in bytes. */
  limit: number
}

/** How long a stream may stay open after its command has ended, held by what it left in the background. */
const LINGER_MS = 250

/** Runs a command to its end and keeps what it printed. */
export async function run(sandbox: Sandbox, command: Command, { input, limit }: RunOptions): Promise<Outcome> {
  const started = await sandbox.exec({ ...command, ...(input !== undefined && { stdin: true }) })
  if (input !== undefined) {
    started.stdin?.on('error', () => undefined)
    started.stdin?.end(input)
  }
  let overflow = false
  const stop = () => {
    if (overflow) return
    overflow = true
    started.signal('SIGKILL').catch(() => undefined)
  }
  const [stdout, stderr, exit] = await Promise.all([
    collect(started, started.stdout, limit, stop),
    collect(started, started.stderr, limit, stop),
    started.exit,
  ])
  if (exit.reason === 'lost') throw fault('sandbox_unavailable', sandbox.id, 'not running any more')
  return { ...exit, stdout, stderr, overflow }
}

/** Reads a stream until it ends, or until a moment after the command has. */
async function collect(started: Process, stream: Readable, limit: number, full: () => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    if (size >= limit) return full()
    const part = chunk.subarray(0, limit - size)
    chunks.push(part)
    size += part.length
    if (part.length < chunk.length) full()
  })
  await drained(started, stream)
  return Buffer.concat(chunks)
}

/** When nothing more is to be expected of a stream. It is destroyed then. */
export async function drained(started: Process, stream: Readable): Promise<void> {
  const ended = new Promise<void>(resolve => {
    if (stream.destroyed || stream.readableEnded) resolve()
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
  let timer: NodeJS.Timeout | undefined
  const lingered = started.exit.then(
    () =>
      new Promise<void>(resolve => {
        timer = setTimeout(resolve, LINGER_MS)
      }),
  )
  await Promise.race([ended, lingered])
  clearTimeout(timer)
  stream.destroy()
}
