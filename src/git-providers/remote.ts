import type { ProviderType } from '../api/git-providers.ts'

/** Where a repository is fetched from, and what opens it. The credential is never part of the URL. */
export interface Remote {
  provider: ProviderType
  /** `owner/name`, as it was ordered. */
  repository: string
  /** `https://host/owner/name.git` */
  url: string
  credential: {
    username: string
    token: string
    /** The secret a command must name to be granted the token: `GITHUB_TOKEN`. */
    variable: string
  } | null
}
