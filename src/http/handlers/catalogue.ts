import type { Catalogue } from '../../agent/catalogue.ts'
import type { catalogueRoutes } from '../../api/routes/catalogue.ts'
import type { Handlers } from '../server.ts'

export const catalogueHandlers = (catalogue: Catalogue): Handlers<typeof catalogueRoutes> => ({
  searchModels: ({ query }) => catalogue.searchModels(query),
  searchProviders: ({ query }) => catalogue.searchProviders(query),
  listProviders: async () => ({ providers: await catalogue.providers() }),
  listModels: async ({ query }) => ({ models: await catalogue.models(query.provider) }),
  listVerifiedModels: async () => ({ models: await catalogue.verified() }),
  listModelOptions: async () => (await catalogue.models(null)).sort(),
  listAgentOptions: () => ['CodeActAgent'],
  listAnalyzerOptions: () => ['llm'],
})
