import { execFile } from 'node:child_process'
import { open, readdir, readFile } from 'node:fs/promises'

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

/** What a folder holds on disk. `du` does not follow links, even those swapped for a folder under its feet. */
export function diskUsage(folder: string): Promise<number> {
  return new Promise(resolve => {
    execFile('du', ['-sk', '--', folder], (_error, stdout) => resolve(Number.parseInt(stdout, 10) * 1024 || 0))
  })
}

/** The last lines of a file the server wrote. */
export async function tail(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined)
  if (!file) return ''
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Enough to see what went wrong, short enough for an error message. */
const TAIL_BYTES = 4096

export const foldersIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(() => []))
    .filter(entry => entry.isDirectory())
    .map(entry => entry.name)
