import { setImmediate } from 'node:timers/promises'
import { type Outcome, run } from '../../sandbox/run.ts'
import { LISTING_BYTES, SEARCH_MS } from './file-limits.ts'
import type { Matches } from './glob-pattern.ts'
import { Refused } from './refused.ts'
import type { Workspace } from './workspace.ts'

/** Folders that hold what nobody wrote by hand. They are named but not looked into, unless a search begins in them. */
export const SKIPPED = ['.git', 'node_modules'] as const

/** Deeper than any path can be. */
const ANY_DEPTH = 4096

// The scripts are constant, for any POSIX shell with GNU or busybox tools. Whatever varies comes as an argument or on standard input.

/** path, depth, types of `find`… → for each type the names below the path, NUL after each, and one NUL more. Links are not followed. */
const TREE_SCRIPT = `
export LC_ALL=C
cd -P -- "$1" 2>/dev/null || exit 74
depth=$2; shift 2
for type; do
  find . -mindepth 1 -maxdepth "$depth" -type d \\( ${SKIPPED.map(name => `-name ${name}`).join(' -o ')} \\) -prune -type "$type" -print0 \\
    -o -type "$type" -print0 2>/dev/null
  printf '\\0'
done
exit 0
`

/** path; names on standard input, NUL after each → a line for each, in their order, empty for what is gone: raw mode in hex, size, time of change. */
const FACTS_SCRIPT = `
export LC_ALL=C TZ=UTC0
cd -P -- "$1" 2>/dev/null || exit 74
xargs -0 sh -c '
  if facts=$(stat -L -c "%f %s %y" -- "$@" 2>/dev/null); then printf "%s\\n" "$facts"
  else for name; do stat -L -c "%f %s %y" -- "$name" 2>/dev/null || stat -c "%f %s %y" -- "$name" 2>/dev/null || echo; done
  fi
' sh
`

export interface Entry {
  /** Below where the search began. */
  name: string
  isDirectory: boolean
}

export interface Facts {
  isDirectory: boolean
  size: number
  /** `2026-03-01 10:00:00.123456789`, UTC, so that text order is time order. */
  modified: string
}

/** Names below a folder. Those that are no UTF-8 are left out: nobody could ask for them. */
export async function tree(
  files: Workspace,
  path: string,
  { depth = ANY_DEPTH, types = ['d', 'f', 'l'] }: { depth?: number; types?: readonly ('d' | 'f' | 'l')[] } = {},
): Promise<{ entries: Entry[]; truncated: boolean }> {
  const { code, stdout, overflow } = await searching(files, TREE_SCRIPT, [path, String(depth), ...types])
  if (code === 74) throw new Refused(`${path} cannot be entered: permission denied.`)
  const entries: Entry[] = []
  let type = 0
  for (const name of names(stdout)) {
    if (name === '') type += 1
    else if (name !== undefined) entries.push({ name: name.slice('./'.length), isDirectory: types[type] === 'd' })
  }
  return { entries, truncated: overflow }
}

/** About each of these names below a folder, in their order; undefined for what is gone. */
export async function facts(files: Workspace, path: string, below: readonly string[]): Promise<(Facts | undefined)[]> {
  if (below.length === 0) return []
  const input = below.map(name => `./${name}\0`).join('')
  const { stdout } = await searching(files, FACTS_SCRIPT, [path], input)
  const lines = stdout.toString('latin1').split('\n')
  return below.map((_, index) => {
    const [mode, size, ...time] = lines[index]?.split(' ') ?? []
    if (!mode || size === undefined) return undefined
    const isDirectory = (Number.parseInt(mode, 16) & 0o170000) === 0o040000
    return { isDirectory, size: Number(size), modified: time.slice(0, 2).join(' ') }
  })
}

/** How long the server may be kept from everybody else. */
const TURN_MS = 10

/** Those that match. */
export async function matching(files: Workspace, below: readonly Entry[], matches: Matches): Promise<string[]> {
  const found: string[] = []
  const begun = performance.now()
  let turn = begun
  for (const { name } of below) {
    if (matches(name)) found.push(name)
    if (performance.now() - turn < TURN_MS) continue
    await setImmediate()
    turn = performance.now()
    files.signal.throwIfAborted()
    if (turn - begun > SEARCH_MS) throw new Refused(TOO_LONG)
  }
  return found
}

/** The latest changed first; those of one moment by name. */
export async function latestFirst(files: Workspace, path: string, below: readonly string[]): Promise<string[]> {
  const known = await facts(files, path, below)
  return below
    .map((name, index) => ({ name, modified: known[index]?.modified ?? '' }))
    .sort((a, b) => compare(b.modified, a.modified) || compare(a.name, b.name))
    .map(({ name }) => name)
}

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const TOO_LONG = `The search took longer than ${SEARCH_MS / 1000} seconds. Search a smaller folder.`

/** Runs a script that looks at many files. */
export async function searching(files: Workspace, script: string, args: string[], input?: string): Promise<Outcome> {
  const outcome = await run(
    files.sandbox,
    { argv: ['/bin/sh', '-c', script, 'search', ...args], cwd: '/', timeoutMs: SEARCH_MS, signal: files.signal },
    { limit: LISTING_BYTES, ...(input !== undefined && { input }) },
  )
  files.signal.throwIfAborted()
  if (outcome.reason === 'timeout') throw new Refused(TOO_LONG)
  return outcome
}

/** What stands before each NUL; undefined for what is no UTF-8. */
export function* names(bytes: Buffer): Generator<string | undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for (let start = 0, end = bytes.indexOf(0); end >= 0; start = end + 1, end = bytes.indexOf(0, start)) {
    try {
      yield decoder.decode(bytes.subarray(start, end))
    } catch {
      yield undefined
    }
  }
}
