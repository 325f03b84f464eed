import * as z from 'zod'
import { textOrNull } from './common.ts'

/** Of an installed skill or plugin. */
export const PackageName = z
  .string()
  .max(255)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)

const install = {
  source: z.string().min(1).meta({
    description: 'github:owner/name, an address of a repository, or a folder of the default sandbox',
  }),
  ref: textOrNull.meta({ description: 'A branch, a tag or a commit' }),
  repo_path: textOrNull.meta({ description: 'A folder within the repository' }),
  force: z.boolean().default(false).meta({ description: 'Replace the one of that name' }),
}
export const InstallSkillRequest = z.object(install).meta({ id: 'InstallSkillRequest' })
export const InstallPluginRequest = z.object(install).meta({ id: 'InstallPluginRequest' })
export type InstallRequest = z.output<typeof InstallSkillRequest>

export const installed = {
  name: z.string(),
  version: z.string().default(''),
  description: z.string().default(''),
  enabled: z.boolean().default(true),
  source: z.string(),
  resolved_ref: textOrNull.meta({ description: 'The commit that was fetched' }),
  repo_path: textOrNull,
  installed_at: z.string(),
  install_path: z.string().meta({ description: 'A name, not a path of this machine: no sandbox could open that' }),
}
export const InstalledSkillResponse = z.object(installed).meta({ id: 'InstalledSkillResponse' })
export type InstalledSkillResponse = z.output<typeof InstalledSkillResponse>

export const InstalledSkillsListResponse = z
  .object({ skills: z.array(InstalledSkillResponse) })
  .meta({ id: 'InstalledSkillsListResponse' })

const state = { enabled: z.boolean() }
export const UpdateSkillStateRequest = z.object(state).meta({ id: 'UpdateSkillStateRequest' })
export const UpdatePluginStateRequest = z.object(state).meta({ id: 'UpdatePluginStateRequest' })
export const UpdateSkillStateResponse = z
  .object({ name: z.string(), ...state })
  .meta({ id: 'UpdateSkillStateResponse' })
export const UpdatePluginStateResponse = z
  .object({ name: z.string(), ...state })
  .meta({ id: 'UpdatePluginStateResponse' })

const message = { message: z.string() }
export const UninstallSkillResponse = z.object(message).meta({ id: 'UninstallSkillResponse' })
export const UninstallPluginResponse = z.object(message).meta({ id: 'UninstallPluginResponse' })
export const UpdateSkillResponse = z
  .object({ ...message, skill: InstalledSkillResponse })
  .meta({ id: 'UpdateSkillResponse' })

export const MarketplaceSkillInfo = z
  .object({ name: z.string(), description: z.string().nullable(), source: z.string(), installed: z.boolean() })
  .meta({ id: 'MarketplaceSkillInfo' })
export const SkillMarketplaceResponse = z
  .object({ skills: z.array(MarketplaceSkillInfo) })
  .meta({ id: 'SkillMarketplaceCatalogResponse' })
export type SkillMarketplaceResponse = z.output<typeof SkillMarketplaceResponse>

export const SyncResponse = z.object({ status: z.enum(['success', 'error']), ...message }).meta({ id: 'SyncResponse' })
export type SyncResponse = z.output<typeof SyncResponse>
