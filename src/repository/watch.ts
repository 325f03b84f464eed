import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '../api/errors.ts'
import { run } from '../sandbox/run.ts'
import type { Bench } from './git.ts'
import { LOOK_MS } from './limits.ts'

const MEGABYTE = 1024 * 1024

/**
 * Measures a folder while something is put into it, and ends that when it grows too large. `work` is given the signal that ends it,
 * and `told` the size.
 */
export async function watched<T>(
  bench: Bench,
  folder: string,
  work: (bench: Bench) => Promise<T>,
  told: (megabytes: number) => void = () => undefined,
): Promise<T> {
  const stop = new AbortController()
  const working = work({ ...bench, signal: AbortSignal.any([bench.signal, stop.signal]) })
  const ended = working.then(
    () => true,
    () => true,
  )
  const check = async (): Promise<void> => {
    const bytes = await sizeOf(bench, folder)
    if (bytes > bench.limits.bytes) throw tooLarge(bench)
    told(Math.round(bytes / MEGABYTE))
  }
  try {
    while (!(await Promise.race([ended, pause(bench.limits.watchMs, false, { ref: false })]))) await check()
    const result = await working
    await check()
    return result
  } finally {
    stop.abort()
    await ended
  }
}

function tooLarge({ remote, limits }: Bench): Error {
  const gigabytes = limits.bytes / 1024 ** 3
  const size = gigabytes < 0.1 ? `${Math.round(limits.bytes / 1024)} KB` : `${Math.round(gigabytes * 10) / 10} GB`
  return fault(
    'repository_too_large',
    `${remote?.repository ?? 'The repository'} is larger than ${size}, the most that is fetched into a sandbox`,
  )
}

async function sizeOf({ sandbox }: Bench, folder: string): Promise<number> {
  const argv = ['du', '-sk', '--', folder] as const
  // Files come and go while it counts, of which it complains; what it counted is told all the same.
  const { stdout } = await run(sandbox, { argv, cwd: '/', timeoutMs: LOOK_MS }, { limit: 4096 })
  return Number.parseInt(stdout.toString('latin1'), 10) * 1024 || 0
}
