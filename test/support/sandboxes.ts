import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownerOf } from '../../src/sandbox/local.ts'
import { until } from './wait.ts'

/** The host's processes that keep sandboxes of this data folder there. */
export async function holders(data: string): Promise<number[]> {
  const mark = `GANTRY_HOLD=${ownerOf(data)}/`
  const pids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))
  const found = await Promise.all(
    pids.map(async pid => {
      const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
      return environ.split('\0').some(entry => entry.startsWith(mark)) ? [Number(pid)] : []
    }),
  )
  return found.flat()
}

/** A server that was killed leaves its sandboxes to the next one, the one it tries its walls on too. After a test there is none. */
export async function endSandboxes(data: string): Promise<void> {
  await until('no sandbox is left', async () => {
    const pids = await holders(data)
    for (const pid of pids)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended meanwhile.
      }
    const folders = await groups(data)
    for (const folder of folders)
      await writeFile(join(folder, 'cgroup.kill'), '1', { flag: 'r+' }).catch(() => undefined)
    for (const folder of folders) await rmdir(folder).catch(() => undefined)
    return pids.length === 0 && folders.length === 0
  })
}

/** The folders of control groups that are left of this data folder's sandboxes, the innermost first. */
export async function groups(data: string): Promise<string[]> {
  const folders: string[] = []
  const roots = (await readdir('/sys/fs/cgroup').catch(() => [])).map(name => join('/sys/fs/cgroup', name))
  for (const root of ['/sys/fs/cgroup', ...roots]) {
    const own = join(root, `gantry-${ownerOf(data)}`)
    const below = await readdir(own, { recursive: true, withFileTypes: true }).catch(() => undefined)
    if (!below) continue
    folders.push(own, ...below.filter(entry => entry.isDirectory()).map(entry => join(entry.parentPath, entry.name)))
  }
  return folders.sort((a, b) => b.length - a.length)
}
