import { once } from 'node:events'
import { abortable } from '../lib/abort.ts'
import type { Bench } from './git.ts'

/** `cat` ends when its input does, also because the server is gone: so a lock never outlives who holds it. */
const HOLD = `command -v flock >/dev/null || { echo none; exit; }
exec flock -x -w "$2" -- "$1" /bin/sh -c 'echo held; exec cat'`

/**
 * Works while nobody else does under the same name in this sandbox; `held` says whether that is certain. An image without `flock` has
 * no such thing: there two may do the same work, and the second to finish finds that of the first.
 */
export async function locked<T>(bench: Bench, file: string, work: (held: boolean) => Promise<T>): Promise<T> {
  const { sandbox, limits, signal } = bench
  const seconds = Math.ceil((limits.fetchMs + limits.localMs) / 1000)
  const argv = ['/bin/sh', '-c', HOLD, 'sh', file, `${seconds}`] as const
  const holder = await sandbox.exec({ argv, cwd: '/', stdin: true, signal, label: 'waiting for a repository' })
  holder.stdin?.on('error', () => undefined)
  holder.stderr.resume()
  try {
    const said = once(holder.stdout, 'data').then(([chunk]) => `${chunk}`.trim())
    const first = await abortable(Promise.race([said, holder.exit.then(() => 'ended')]), signal)
    return await work(first === 'held')
  } finally {
    holder.stdin?.end()
    await holder.exit
  }
}
