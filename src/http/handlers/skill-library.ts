import type { skillLibraryRoutes } from '../../api/routes/skill-library.ts'
import type { Marketplaces } from '../../library/marketplaces.ts'
import type { SkillLibrary } from '../../settings/skill-library.ts'
import type { Handlers } from '../server.ts'

export const skillLibraryHandlers = (
  library: SkillLibrary,
  marketplaces: Marketplaces,
): Handlers<typeof skillLibraryRoutes> => ({
  loadSkills: ({ body }, { scope }) => library.load(body, scope),
  loadHooks: async ({ body }, { scope }) => ({ hook_config: await library.hooks(body.project_dir, scope) }),
  searchSkills: ({ query }) => library.search(query),
  previewMarketplaces: ({ body }) => marketplaces.preview(body),
})
