import * as z from 'zod'
import {
  InstalledSkillResponse,
  InstalledSkillsListResponse,
  InstallSkillRequest,
  PackageName,
  SkillMarketplaceResponse,
  SyncResponse,
  UninstallSkillResponse,
  UpdateSkillResponse,
  UpdateSkillStateRequest,
  UpdateSkillStateResponse,
} from '../installed-skills.ts'
import { route } from '../route.ts'

const tag = 'Skills'
const params = z.object({ skill_name: PackageName })
const errors = ['package_not_found'] as const

export const installedSkillRoutes = {
  listInstalledSkills: route({
    method: 'GET',
    path: '/api/skills/installed',
    tag,
    summary: 'List the installed skills',
    access: 'caller',
    responses: { 200: InstalledSkillsListResponse },
  }),
  installSkill: route({
    method: 'POST',
    path: '/api/skills/install',
    tag,
    summary: 'Install a skill. All it brings takes effect, for the bearer of the key asked for it',
    access: 'key',
    body: InstallSkillRequest,
    responses: { 200: InstalledSkillResponse },
    errors: ['package_not_fetched', 'package_exists', 'package_invalid', 'package_limit'],
  }),
  getInstalledSkill: route({
    method: 'GET',
    path: '/api/skills/installed/{skill_name}',
    tag,
    summary: 'Get an installed skill',
    access: 'caller',
    params,
    responses: { 200: InstalledSkillResponse },
    errors,
  }),
  setSkillEnabled: route({
    method: 'PATCH',
    path: '/api/skills/installed/{skill_name}',
    tag,
    summary: 'Have conversations get an installed skill, or not; those under way keep what they have',
    access: 'key',
    params,
    body: UpdateSkillStateRequest,
    responses: { 200: UpdateSkillStateResponse },
    errors,
  }),
  uninstallSkill: route({
    method: 'DELETE',
    path: '/api/skills/installed/{skill_name}',
    tag,
    summary: 'Uninstall a skill',
    access: 'key',
    params,
    responses: { 200: UninstallSkillResponse },
    errors,
  }),
  refreshSkill: route({
    method: 'POST',
    path: '/api/skills/installed/{skill_name}/refresh',
    tag,
    summary: 'Fetch an installed skill anew, as it is at its source now',
    access: 'key',
    params,
    responses: { 200: UpdateSkillResponse },
    errors: ['package_not_found', 'package_not_fetched', 'package_invalid'],
  }),
  skillMarketplace: route({
    method: 'GET',
    path: '/api/skills/marketplace',
    tag,
    summary: 'List the skills that the registered marketplaces offer',
    access: 'caller',
    responses: { 200: SkillMarketplaceResponse },
  }),
  syncSkills: route({
    method: 'POST',
    path: '/api/skills/sync',
    tag,
    summary: 'Read the registered marketplaces anew',
    access: 'caller',
    responses: { 200: SyncResponse },
  }),
}
