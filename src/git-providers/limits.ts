/** What a call to a provider may take. */
export interface CallLimits {
  /** Until an answer must be complete: a person waits for it. */
  ms: number
  /** Of one answer: a hundred repositories of the wordiest provider are under 1 MB. */
  bytes: number
}
export const CALL_LIMITS: CallLimits = { ms: 15_000, bytes: 8 * 1024 * 1024 }

/** A renamed repository is one redirect away; a loop is not followed for long. */
export const REDIRECTS = 3

/** Pages of branches that are looked through where a provider cannot search. */
export const BRANCH_PAGES = 10

/** Workspaces that a person may be in: more are not asked for. */
export const WORKSPACES = 100

/** Pull requests and issues that tasks are made of, of each kind: what a person can look over. */
export const TASKS = 50

/** The longest name a repository may have, groups included. */
export const NAME_CHARACTERS = 512
