import { readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Signals until a round finds nobody new: while one is signalled, another may be forked.
 */
export async function signalAll(find: () => Promise<number[]>, name: NodeJS.Signals): Promise<void> {
  const done = new Set<number>()
  for (let round = 0; round < ROUNDS; round++) {
    const fresh = (await find()).filter(pid => !done.has(pid))
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

/** Until none of them runs any more: the signal alone is only a wish. */
export async function stopAll(find: () => Promise<number[]>): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await signalAll(find, 'SIGSTOP')
    const states = await Promise.all((await find()).map(stateOf))
    if (states.every(state => state === undefined || 'TZX'.includes(state))) return
    await delay(round)
  }
}

/** Something that forks faster than this is ended with its sandbox. */
const ROUNDS = 20

/**
 * Every process of the host's that bears this variable, and all that descend from one, or from `root`. Where there is no cgroup to
 * ask, this finds what a command started, even what left its session and lost its parent, unless it hides on purpose: then the
 * end of its sandbox is its end.
 */
export async function signalMarked(mark: string, name: NodeJS.Signals, root?: number): Promise<void> {
  // What runs can fork faster than it dies.
  if (name === 'SIGKILL') await signalAll(() => marked(mark, root), 'SIGSTOP')
  await signalAll(() => marked(mark, root), name)
}

export async function marked(mark: string, root?: number): Promise<number[]> {
  const found = new Set<number>(root === undefined ? [] : [root])
  const parents = new Map<number, number>()
  await Promise.all(
    (await processes()).map(async pid => {
      if (await isHolding(pid, mark)) found.add(pid)
      parents.set(pid, parentIn(await peek(pid, 'stat')))
    }),
  )
  for (let grew = true; grew; ) {
    grew = false
    for (const [pid, parent] of parents)
      if (found.has(parent) && !found.has(pid)) {
        found.add(pid)
        grew = true
      }
  }
  // Who started others is told before them, as a rule: a shell whose command ended first would go on to its next one.
  return [...found].sort((a, b) => a - b)
}

/** All in the process namespace of this one, and itself. */
export async function beneath(init: number): Promise<number[]> {
  const namespace = await readlink(`/proc/${init}/ns/pid`).catch(() => undefined)
  if (namespace === undefined) return []
  const all = await processes()
  const theirs = await Promise.all(all.map(pid => readlink(`/proc/${pid}/ns/pid`).catch(() => '')))
  return all.filter((_, index) => theirs[index] === namespace)
}

/**
 * The host's own processes in whose environment something begins with this prefix, and how that goes on. Those inside a sandbox, in
 * a process namespace of their own, may call themselves anything.
 */
export async function holding(prefix: string): Promise<{ pid: number; rest: string }[]> {
  const here = await readlink('/proc/self/ns/pid')
  const found = await Promise.all(
    (await processes()).map(async pid => {
      const mark = (await peek(pid, 'environ')).split('\0').find(entry => entry.startsWith(prefix))
      const outside = mark && (await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) === here
      return outside ? [{ pid, rest: mark.slice(prefix.length) }] : []
    }),
  )
  return found.flat()
}

/** Whether a process was started with this variable. It proves that an id was not given to another meanwhile. */
export const isHolding = async (pid: number, mark: string): Promise<boolean> =>
  (await peek(pid, 'environ')).split('\0').includes(mark)

export async function firstChild(pid: number): Promise<number> {
  return Number((await peek(pid, `task/${pid}/children`)).split(' ')[0])
}

/** One letter, as `ps` shows it. */
export const stateOf = async (pid: number): Promise<string | undefined> =>
  /^\) (\S)/.exec(afterName(await peek(pid, 'stat')))?.[1]

const processes = async (): Promise<number[]> =>
  (await readdir('/proc')).filter(entry => /^\d+$/.test(entry)).map(Number)
const parentIn = (stat: string): number => Number(/^\) \S (\d+)/.exec(afterName(stat))?.[1] ?? 0)
/** A program's name may hold anything, brackets too. */
const afterName = (stat: string): string => stat.slice(stat.lastIndexOf(')'))
const peek = (pid: number, file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')
