import type { Remote } from '../git-providers/remote.ts'

/** What a conversation is to find in its working directory. */
export interface RepositoryOrder {
  /** Nothing to fetch: the folder becomes an empty repository. */
  remote: Remote | null
  /** Where the files are to be, absolute, inside the sandbox. */
  folder: string
  /** To be checked out; null makes a branch named `workBranch` from the default one. */
  branch: string | null
  workBranch: string
  /** All of its history, not only the newest commit. */
  fullHistory: boolean
  /**
   * Where several conversations work on one repository: the clone they share, each with a worktree of its own at `folder`. Null
   * where the sandbox is one conversation's.
   */
  shared: string | null
  /** Who commits. */
  identity: { name: string; email: string } | null
}

/** What came of one step of the preparation. */
export interface Step {
  /** `skipped`: there was nothing to do; `refused`: it needs an approval first. */
  outcome: 'done' | 'skipped' | 'refused'
  /** For a person: what was done, or why not; the last lines of output. */
  detail: string | null
}

/** Whether a file that a repository brings may run by itself: asked of its very content. */
export type Trust = (sha256: string) => Promise<boolean>
