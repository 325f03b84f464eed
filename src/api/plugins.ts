import * as z from 'zod'
import { orNull, strings, textOrNull } from './common.ts'
import { installed } from './installed-skills.ts'

const PluginSkillSummary = z.object({ name: z.string(), description: textOrNull }).meta({ id: 'PluginSkillSummary' })
const skills = z.array(PluginSkillSummary)

export const PluginsRequest = z
  .object({
    load_user: z.boolean().default(true),
    load_project: z.boolean().default(true),
    project_dir: textOrNull.meta({ description: 'Absolute, or from the working directory of the sandbox' }),
  })
  .meta({ id: 'PluginsRequest' })
export type PluginsRequest = z.output<typeof PluginsRequest>

export const PluginInfo = z
  .object({
    name: z.string(),
    version: z.string().default(''),
    description: z.string().default(''),
    path: z.string().default('').meta({ description: 'What an order names it by, as a source' }),
    skills: skills.default([]),
    files: strings,
  })
  .meta({ id: 'PluginInfo' })
export type PluginInfo = z.output<typeof PluginInfo>
export const PluginsResponse = z.object({ plugins: z.array(PluginInfo) }).meta({ id: 'PluginsResponse' })

export const InstalledPluginResponse = z
  .object({ ...installed, skills: orNull(skills), files: orNull(z.array(z.string())) })
  .meta({ id: 'InstalledPluginResponse' })
export type InstalledPluginResponse = z.output<typeof InstalledPluginResponse>
export const InstalledPluginsListResponse = z
  .object({ plugins: z.array(InstalledPluginResponse) })
  .meta({ id: 'InstalledPluginsListResponse' })

export const UpdatePluginResponse = z
  .object({ message: z.string(), plugin: InstalledPluginResponse })
  .meta({ id: 'UpdatePluginResponse' })

const MarketplacePluginInfo = z
  .object({
    name: z.string(),
    description: z.string().nullable(),
    source: z.string(),
    ref: textOrNull,
    repo_path: textOrNull,
    installed: z.boolean(),
    path: textOrNull,
    skills: orNull(skills),
    files: orNull(z.array(z.string())),
  })
  .meta({ id: 'MarketplacePluginInfo' })
export const PluginMarketplaceResponse = z
  .object({ plugins: z.array(MarketplacePluginInfo) })
  .meta({ id: 'PluginMarketplaceCatalogResponse' })
export type PluginMarketplaceResponse = z.output<typeof PluginMarketplaceResponse>

export const LoadPluginRequest = z
  .object({
    plugin_ref: z.string().min(1).meta({
      description: 'An installed plugin by its name, one of a marketplace as name or name@marketplace, or a source',
    }),
  })
  .meta({ id: 'LoadPluginRequest' })
