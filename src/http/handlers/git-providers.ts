import type { gitProviderRoutes } from '../../api/routes/git-providers.ts'
import type { GitListings } from '../../git-providers/listings.ts'
import type { GitProviders } from '../../git-providers/providers.ts'
import type { Handlers } from '../server.ts'

export function gitProviderHandlers(
  providers: GitProviders,
  listings: GitListings,
): Handlers<typeof gitProviderRoutes> {
  return {
    searchGitInstallations: ({ query }) => listings.installations(query),
    searchGitRepositories: ({ query }) => listings.repositories(query),
    searchGitBranches: ({ query }) => listings.branches(query),
    searchSuggestedTasks: ({ query }) => listings.suggestedTasks(query),
    userGitInfo: () => providers.whoami(),
    userGitInfoV0: () => providers.whoami(),
    userInstallations: async ({ query }) =>
      (await listings.installations({ ...query, page_id: null, limit: 100 })).items,
    userRepositories: ({ query }) => listings.numberedRepositories(query),
    searchUserRepositories: ({ query }) => listings.foundRepositories(query),
    searchUserBranches: async ({ query: { selected_provider: provider, per_page: limit, ...search } }) =>
      (await listings.branches({ ...search, provider, page_id: null, limit })).items,
    userRepositoryBranches: ({ query }) => listings.numberedBranches(query),
    userSuggestedTasks: () => listings.allTasks(),
  }
}
