import type { Readable } from 'node:stream'
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
  const process = await sandbox.exec({ ...command, ...(input !== undefined && { stdin: true }) })
  if (input !== undefined) {
    process.stdin?.on('error', () => undefined)
    process.stdin?.end(input)
  }
  let overflow = false
  const stop = () => {
    if (overflow) return
    overflow = true
    process.signal('SIGKILL').catch(() => undefined)
  }
  const [stdout, stderr, exit] = await Promise.all([
    collect(process, process.stdout, limit, stop),
    collect(process, process.stderr, limit, stop),
    process.exit,
  ])
  return { ...exit, stdout, stderr, overflow }
}

/** Reads a stream until it ends, or until a moment after the command has. */
async function collect(process: Process, stream: Readable, limit: number, full: () => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    if (size >= limit) return full()
    const part = chunk.subarray(0, limit - size)
    chunks.push(part)
    size += part.length
    if (part.length < chunk.length) full()
  })
  await drained(process, stream)
  return Buffer.concat(chunks)
}

/** When nothing more is to be expected of a stream. It is destroyed then. */
export async function drained(process: Process, stream: Readable): Promise<void> {
  const ended = new Promise<void>(resolve => {
    if (stream.destroyed || stream.readableEnded) resolve()
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
  let timer: NodeJS.Timeout | undefined
  const lingered = process.exit.then(
    () =>
      new Promise<void>(resolve => {
        timer = setTimeout(resolve, LINGER_MS)
      }),
  )
  await Promise.race([ended, lingered])
  clearTimeout(timer)
  stream.destroy()
}
