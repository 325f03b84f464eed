import { type Bench, git, script, tryGit } from './git.ts'
import { aside, clearBeside } from './place.ts'
import { watched } from './watch.ts'

export interface Branching {
  /** What it is called; one of that name that nobody has checked out begins anew. */
  name: string
  /** What it begins with. */
  start: string
  /** Whether it follows that. */
  tracks: boolean
}

/**
 * A worktree that is whole as soon as its folder is there. The files are written out beside it and without a branch: that takes long.
 * Then it gets its branch, and its place, which git gives only to what is not there.
 */
export async function addWorktree(
  bench: Bench,
  repository: string,
  folder: string,
  { name, start, tracks }: Branching,
): Promise<void> {
  await clearBeside(bench, folder)
  await git(bench, repository, ['worktree', 'prune'])
  const making = aside(folder)
  try {
    await watched(bench, making, inner =>
      git(inner, repository, ['worktree', 'add', '-q', '--detach', '--', making, start]),
    )
    await git(bench, making, ['checkout', '-q', '-B', name, tracks ? '--track' : '--no-track', start])
    await script(bench, 'rmdir -- "$1" 2>/dev/null; exit 0', [folder])
    await git(bench, repository, ['worktree', 'move', '--', making, folder])
  } catch (error) {
    // Not by the signal that ended the rest.
    const after = { ...bench, signal: new AbortController().signal }
    await tryGit(after, repository, ['worktree', 'remove', '--force', '--', making]).catch(() => undefined)
    throw error
  }
}
