import type { Readable } from 'node:stream'
import { fault } from '../api/errors.ts'
import { drained } from '../sandbox/run.ts'
import type { Exit, Sandbox } from '../sandbox/sandbox.ts'
import { lastLines } from './failure.ts'
import { FLOOD_BYTES, LIMITS, type RepositoryLimits, SHOWN_CHARACTERS } from './limits.ts'
import { BECOME, findScript, type ScriptOptions } from './project-script.ts'
import type { Step } from './repository.ts'

const FILE = '.openhands/setup.sh'

/** file, hash. What was approved is what runs. */
const RUN = `exec 2>&1
file=$1; [ "$(sha256sum <"$file")" = "$2  -" ] || { echo 'It has changed meanwhile'; exit 126; }
shift 2
${BECOME}`

export interface SetupOptions extends ScriptOptions {
  limits?: Partial<Pick<RepositoryLimits, 'setupMs'>>
}

/** Has a project make itself ready: `.openhands/setup.sh`, run in its folder. */
export async function runSetupScript(sandbox: Sandbox, folder: string, options: SetupOptions): Promise<Step> {
  const { signal, egress, limits } = options
  const found = await findScript(sandbox, folder, FILE, options)
  if (typeof found !== 'string') return found
  const timeoutMs = limits?.setupMs ?? LIMITS.setupMs
  const argv = ['/bin/sh', '-c', RUN, 'sh', FILE, found] as const
  const command = { argv, cwd: folder, timeoutMs, signal, label: FILE, ...(egress && { egress }) }
  const started = await sandbox.exec(command)
  started.stderr.resume()
  const kept = tailOf(started.stdout, () => void started.signal('SIGKILL').catch(() => undefined))
  const [exit] = await Promise.all([started.exit, drained(started, started.stdout)])
  signal.throwIfAborted()
  const shown = lastLines(kept.text())
  const why = kept.flooded() ? `printed more than ${FLOOD_BYTES} bytes` : complaint(exit, timeoutMs)
  if (why !== undefined) throw fault('setup_failed', `${FILE} ${why}${shown && `:\n${shown}`}`)
  return { outcome: 'done', detail: shown || null }
}

function complaint({ code, reason }: Exit, timeoutMs: number): string | undefined {
  if (reason === 'timeout') return `took longer than ${timeoutMs / 1000} seconds`
  if (reason === 'lost') return 'was lost with its sandbox'
  return code === 0 ? undefined : `ended with exit code ${code}`
}

/** The end of a stream, whatever its length; `full` is called when that is beyond all measure. */
function tailOf(stream: Readable, full: () => void): { text(): string; flooded(): boolean } {
  let tail: Buffer = Buffer.alloc(0)
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    tail = Buffer.concat([tail, chunk]).subarray(-4 * SHOWN_CHARACTERS)
    if (size > FLOOD_BYTES) full()
  })
  return { text: () => tail.toString('utf8'), flooded: () => size > FLOOD_BYTES }
}
