import * as z from 'zod'
import { orNull, page, strings, textOrNull } from './common.ts'
import { HookConfig } from './hooks.ts'
import { ExposedUrl } from './sandboxes.ts'
import { secret } from './secret.ts'
import { MarketplaceRegistration } from './skills.ts'

/** The address may hold what opens it. */
export const OrgConfig = z
  .object({
    repository: z.string(),
    provider: z.string(),
    org_repo_url: secret().regex(/^https?:\/\/[^\s\\]+$/i),
    org_name: z.string().min(1),
  })
  .meta({ id: 'OrgConfig' })
export type OrgConfig = z.output<typeof OrgConfig>

const SandboxConfig = z.object({ exposed_urls: z.array(ExposedUrl).default([]) }).meta({ id: 'SandboxConfig' })

export const SkillsRequest = z
  .object({
    load_public: z.boolean().default(true).meta({
      description: 'Those of the marketplaces that this server was set up with, as far as their auto_load says so',
    }),
    load_user: z.boolean().default(true),
    load_project: z.boolean().default(true),
    load_org: z.boolean().default(true).meta({ description: 'Those of org_configs' }),
    marketplace_path: z
      .string()
      .regex(/^(?!\/)(?!(.*\/)?\.\.(\/|$))/)
      .nullable()
      .default('marketplaces/default.json')
      .meta({
        description:
          'Where in a public marketplace its list is looked for first. With null, all that public marketplaces offer is loaded',
      }),
    registered_marketplaces: z.array(MarketplaceRegistration).max(20).default([]).meta({
      description:
        'Their packages that auto_load names are fetched, in the sandbox and without what is stored to open them',
    }),
    project_dir: textOrNull.meta({ description: 'Absolute, or from the working directory of the sandbox' }),
    org_configs: orNull(z.array(OrgConfig).max(20)).meta({
      description: 'Repositories that are fetched in the sandbox: of each, what lies in skills and microagents',
    }),
    org_config: orNull(OrgConfig).meta({ deprecated: true, description: 'One more of org_configs' }),
    sandbox_config: orNull(SandboxConfig).meta({
      description: 'Of its addresses, those named WORKER_… become a skill that tells of them',
    }),
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
