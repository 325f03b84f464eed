import { readdir, readFile } from 'node:fs/promises'

/**
 * Signals every process of the host's that bears this variable, and all that descend from one. Where there is no cgroup to ask,
 * this finds what a command started, even what left its session and lost its parent, unless it hides on purpose: then
 * the end of its sandbox is its end.
 */
export async function signalMarked(mark: string, name: NodeJS.Signals): Promise<void> {
  // Until a round finds nobody new: while one is signalled, another may be forked.
  const done = new Set<number>()
  for (let round = 0; round < 10; round++) {
    const fresh = (await marked(mark)).filter(pid => !done.has(pid))
    if (fresh.length === 0) return
    for (const pid of fresh) {
      done.add(pid)
      try {
        process.kill(pid, name)
      } catch {
        // It ended meanwhile.
      }
    }
  }
}

export async function marked(mark: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry)).map(Number)
  const found = new Set<number>()
  const parents = new Map<number, number>()
  await Promise.all(
    pids.map(async pid => {
      const [environ, stat] = await Promise.all([peek(pid, 'environ'), peek(pid, 'stat')])
      // Also variables set since the start are not in there, but what a process was started with always is.
      if (environ.split('\0').includes(mark)) found.add(pid)
      parents.set(pid, Number(/\) \S (\d+)/.exec(stat.slice(stat.lastIndexOf(')')))?.[1] ?? 0))
    }),
  )
  let grew = true
  while (grew) {
    grew = false
    for (const [pid, parent] of parents)
      if (found.has(parent) && !found.has(pid)) {
        found.add(pid)
        grew = true
      }
  }
  return [...found]
}

const peek = (pid: number, file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')
