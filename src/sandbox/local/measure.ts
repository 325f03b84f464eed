import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Of the host's processes with these ids; what they share is counted in parts. */
export async function memoryUsage(pids: readonly number[]): Promise<number> {
  const sizes = await Promise.all(
    pids.map(async pid => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024
    }),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** What a folder holds on disk. Links are not followed, and what vanishes meanwhile does not count. */
export async function diskUsage(folder: string): Promise<number> {
  let bytes = 0
  const waiting = [folder]
  while (waiting.length > 0) {
    const next = waiting.pop()!
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      else
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * 512,
          () => 0,
        )
    }
  }
  return bytes
}
