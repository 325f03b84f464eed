import type { TaskType } from '../api/git-providers.ts'

export interface PullRequestState {
  conflicts: boolean
  failing: boolean
  unresolved: boolean
}

/** What is to be done first: nothing can be merged over conflicts, and nobody looks at what fails. */
export function pullRequestTask({ conflicts, failing, unresolved }: PullRequestState): TaskType {
  if (conflicts) return 'MERGE_CONFLICTS'
  if (failing) return 'FAILING_CHECKS'
  return unresolved ? 'UNRESOLVED_COMMENTS' : 'OPEN_PR'
}
