import * as z from 'zod'
import { formatUtc, now } from '../lib/time.ts'
import { nullishText, orNull, strings, textOrNull } from './common.ts'
import { mcpServers } from './mcp.ts'
import { secret } from './secret.ts'
import { SecretSource } from './secrets.ts'

export const KeywordTrigger = z
  .object({ type: z.literal('keyword').optional().default('keyword'), keywords: z.array(z.string()) })
  .meta({ id: 'KeywordTrigger' })
export const TaskTrigger = z
  .object({ type: z.literal('task').optional().default('task'), triggers: z.array(z.string()) })
  .meta({ id: 'TaskTrigger' })
export const PathTrigger = z
  .object({ type: z.literal('path').optional().default('path'), paths: z.array(z.string()) })
  .meta({ id: 'PathTrigger' })

/** Without a `type` the other field decides: hence the fallback. */
export const Trigger = z.discriminatedUnion('type', [KeywordTrigger, TaskTrigger, PathTrigger], { unionFallback: true })
export type Trigger = z.output<typeof Trigger>

const InputMetadata = z.object({ name: z.string(), description: z.string() }).meta({ id: 'InputMetadata' })

const SkillResources = z
  .object({ skill_root: z.string(), scripts: strings, references: strings, assets: strings })
  .meta({ id: 'SkillResources' })

export const Skill = z
  .object({
    name: z.string(),
    content: z.string(),
    trigger: orNull(Trigger),
    source: textOrNull,
    mcp_tools: orNull(mcpServers),
    inputs: z.array(InputMetadata).default([]),
    is_agentskills_format: z.boolean().default(false),
    version: z.string().default('1.0.0'),
    description: textOrNull,
    license: textOrNull,
    compatibility: textOrNull,
    metadata: orNull(z.record(z.string(), z.string())),
    allowed_tools: orNull(z.array(z.string())),
    disable_model_invocation: z.boolean().default(false),
    resources: orNull(SkillResources),
  })
  .meta({ id: 'Skill' })
export type Skill = z.output<typeof Skill>

export const MarketplaceRegistration = z
  .object({
    name: z.string(),
    source: z.string(),
    ref: textOrNull,
    repo_path: textOrNull,
    auto_load: z.union([z.boolean(), z.array(z.string())]).default(false),
  })
  .meta({ id: 'MarketplaceRegistration' })
export type MarketplaceRegistration = z.output<typeof MarketplaceRegistration>

/** What the agent is told besides the conversation. `current_datetime` is the time of reading unless given. */
export const AgentContext = z
  .object({
    skills: z.array(Skill).default([]),
    system_message_suffix: textOrNull,
    user_message_suffix: textOrNull,
    load_user_skills: z.boolean().default(false),
    load_public_skills: z.boolean().default(false),
    marketplace_path: z.string().nullable().default('marketplaces/default.json'),
    registered_marketplaces: z.array(MarketplaceRegistration).default([]),
    load_project_skills: z.boolean().default(false),
    load_memory: z.boolean().default(false),
    /** Taken but never shown. */
    memory_context: nullishText,
    disabled_skills: strings,
    secrets: orNull(z.record(z.string(), z.union([secret(), SecretSource]))),
    /** A time, or whatever else its sender calls one: the model reads it, nobody else. */
    current_datetime: z.string().nullish(),
  })
  // Not a default, which would put the time of its making into the OpenAPI document.
  .overwrite(context =>
    context.current_datetime === undefined ? { ...context, current_datetime: formatUtc(now()) } : context,
  )
  .meta({ id: 'AgentContext' })
export type AgentContext = z.output<typeof AgentContext>
