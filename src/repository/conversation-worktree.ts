import { posix } from 'node:path'
import { hexUuid } from '../lib/id.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'
import { type Bench, tryGit } from './git.ts'
import { LIMITS } from './limits.ts'
import { isThere } from './place.ts'
import { addWorktree } from './worktree.ts'

export interface WorktreeOptions {
  /** Where worktrees of conversations are. */
  root: string
  signal: AbortSignal
  /** Narrower than the sandbox's. */
  egress?: Egress
}

export interface ConversationWorktree {
  /** What stands for the working directory in it. */
  workingDir: string
  branch: string
}

/** What is new on the remote is a courtesy: a conversation does not wait long for it. */
const FETCH_MS = 30_000

/** What a branch begins with, the first there is of these. */
const STARTS = [
  'refs/remotes/origin/HEAD',
  'refs/remotes/origin/main',
  'refs/remotes/origin/master',
  'refs/heads/main',
  'refs/heads/master',
  'HEAD',
]

/**
 * A worktree for one conversation of the repository that its working directory is in, so that it changes nothing there. Null where
 * there is none, or one without a commit. It may be repeated.
 */
export async function prepareWorktree(
  sandbox: Sandbox,
  workingDir: string,
  id: string,
  { root, signal, egress }: WorktreeOptions,
): Promise<ConversationWorktree | null> {
  const bench: Bench = { sandbox, signal, egress, remote: null, limits: LIMITS }
  const [top, prefix = ''] = await lines(bench, workingDir, ['rev-parse', '--show-toplevel', '--show-prefix'])
  if (!top || !(await startIn(bench, top))) return null
  const branch = `openhands/${hexUuid(id)}`
  const folder = posix.join(root, hexUuid(id), posix.basename(top))
  const worktree = { workingDir: posix.resolve(folder, prefix), branch }
  if (await isThere(bench, folder)) return worktree
  const hasty = { ...bench, limits: { ...LIMITS, localMs: FETCH_MS } }
  await tryGit(hasty, top, ['fetch', '-q', '--no-write-fetch-head', 'origin'])
  const start = await startIn(bench, top)
  if (!start) return null
  await addWorktree(bench, top, folder, { name: branch, start, tracks: false })
  return worktree
}

async function startIn(bench: Bench, top: string): Promise<string | undefined> {
  for (const start of STARTS) {
    const [commit] = await lines(bench, top, ['rev-parse', '--verify', '--quiet', `${start}^{commit}`])
    if (commit) return commit
  }
  return undefined
}

/** What git answers; nothing where it cannot. */
async function lines(bench: Bench, folder: string, args: readonly string[]): Promise<string[]> {
  const { code, stdout } = await tryGit(bench, folder, args)
  return code === 0 ? stdout.toString('utf8').split('\n') : []
}
