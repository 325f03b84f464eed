import * as z from 'zod'
import { orNull, page, strings, textOrNull } from './common.ts'
import { HookConfig } from './hooks.ts'
import { MarketplaceRegistration } from './skills.ts'

/** What a caller may also send, for public skills and those of organisations, is taken and not acted upon. */
export const SkillsRequest = z
  .object({
    load_user: z.boolean().default(true),
    load_project: z.boolean().default(true),
    project_dir: textOrNull.meta({ description: 'Absolute, or from the working directory of the sandbox' }),
  })
  .meta({ id: 'SkillsRequest' })
export type SkillsRequest = z.output<typeof SkillsRequest>

export const SkillInfo = z
  .object({
    name: z.string(),
    type: z.enum(['repo', 'knowledge', 'agentskills']),
    content: z.string(),
    triggers: strings,
    source: textOrNull,
    description: textOrNull,
    is_agentskills_format: z.boolean().default(false),
    disable_model_invocation: z.boolean().default(false),
  })
  .meta({ id: 'SkillInfo' })
export type SkillInfo = z.output<typeof SkillInfo>

export const SkillsResponse = z
  .object({
    skills: z.array(SkillInfo),
    sources: z.record(z.string(), z.int()).default({}).meta({ description: 'How many came from each source' }),
  })
  .meta({ id: 'SkillsResponse' })
export type SkillsResponse = z.output<typeof SkillsResponse>

export const HooksRequest = z.object({ project_dir: textOrNull }).meta({ id: 'HooksRequest' })
export const HooksResponse = z.object({ hook_config: orNull(HookConfig) }).meta({ id: 'HooksResponse' })

/** One that can be switched off by name, in a list. */
export const ListedSkill = z
  .object({
    name: z.string(),
    type: z.enum(['knowledge', 'repo', 'task', 'agentskills']),
    source: z.enum(['global', 'user']),
    triggers: orNull(z.array(z.string())),
  })
  .meta({ id: 'ListedSkill' })
export type ListedSkill = z.output<typeof ListedSkill>
export const ListedSkillPage = page('ListedSkillPage', ListedSkill)
export type ListedSkillPage = z.output<typeof ListedSkillPage>

export const MarketplacesRequest = z.array(MarketplaceRegistration)

export const MarketplaceSkillsResponse = z
  .object({
    skills: z.array(ListedSkill),
    plugins: z.array(
      z.object({ name: z.string(), description: textOrNull, source: z.string(), marketplace: z.string() }),
    ),
    marketplace_skills: z.record(z.string(), z.array(z.string())),
    errors: z.array(z.string()),
  })
  .meta({ id: 'MarketplaceSkillsResponse' })
export type MarketplaceSkillsResponse = z.output<typeof MarketplaceSkillsResponse>
