import type { installedSkillRoutes } from '../../api/routes/installed-skills.ts'
import type { InstalledSkills } from '../../library/installed-skills.ts'
import type { Marketplaces } from '../../library/marketplaces.ts'
import type { Handlers } from '../server.ts'

export const installedSkillHandlers = (
  skills: InstalledSkills,
  marketplaces: Marketplaces,
): Handlers<typeof installedSkillRoutes> => ({
  listInstalledSkills: () => skills.list(),
  installSkill: ({ body }) => skills.install(body),
  getInstalledSkill: ({ params }) => skills.get(params.skill_name),
  setSkillEnabled: ({ params, body }) => skills.setEnabled(params.skill_name, body.enabled),
  uninstallSkill: ({ params }) => skills.uninstall(params.skill_name),
  refreshSkill: ({ params }) => skills.refresh(params.skill_name),
  skillMarketplace: () => skills.marketplace(),
  syncSkills: () => marketplaces.sync(),
})
