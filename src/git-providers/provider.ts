import type { Branch, Repository, SortOrder, SuggestedTask, UserGitInfo } from '../api/git-providers.ts'
import type { CallLimits } from './limits.ts'

/** A stored token, opened. */
export interface Access {
  token: string
  /** As it was entered; null is where the provider is at home. */
  host: string | null
}

/** What a provider is made with. */
export interface ProviderParts {
  token: string
  /** Without a slash at its end. */
  site: string
  fetch: typeof globalThis.fetch
  limits: CallLimits
}

/** Which part of a list: `cursor` is what the part before gave as `next`. An unknown one is the beginning, or nothing. */
export interface Slice {
  cursor: string | null
  limit: number
}

export interface Listing<T> {
  items: T[]
  next: string | null
}

export interface RepositorySearch extends Slice {
  /** Null lists what the user takes part in. */
  query: string | null
  /** One of `installations`. */
  installation: string | null
  /** Of what is found; a provider that does not know it uses its own. */
  order: SortOrder | null
}

/** A place that keeps repositories, seen with one token. Every call may fail with a Fault of the catalogue, and with nothing else. */
export interface GitProvider {
  whoami(): Promise<UserGitInfo>
  repositories(search: RepositorySearch): Promise<Listing<Repository>>
  /** Null when it is not there, or not for this token. */
  repository(name: string): Promise<Repository | null>
  branches(repository: string, slice: Slice): Promise<Listing<Branch>>
  /** Those whose name contains the text. */
  searchBranches(repository: string, text: string, limit: number): Promise<Branch[]>
  /** What groups repositories there: app installations, workspaces. Absent where nothing does. */
  installations?(slice: Slice): Promise<Listing<string>>
  /** Absent where a provider cannot tell. */
  suggestedTasks?(): Promise<SuggestedTask[]>
}
