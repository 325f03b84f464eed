import * as z from 'zod'
import { strings, textOrNull } from './common.ts'

export const HookType = z.enum(['command', 'prompt', 'agent']).meta({ id: 'HookType' })
export type HookType = z.output<typeof HookType>

export const HookDefinition = z
  .object({
    type: HookType.default('command'),
    name: textOrNull,
    command: z.string().default(''),
    prompt: textOrNull,
    system_prompt: textOrNull,
    tools: strings,
    /** Seconds. */
    timeout: z.int().default(60),
    max_iterations: z.int().default(3),
    async: z.boolean().default(false),
  })
  .refine(hook => hook.type !== 'command' || hook.command !== '', {
    error: 'A hook of type command needs a command',
    path: ['command'],
  })
  .meta({ id: 'HookDefinition' })
export type HookDefinition = z.output<typeof HookDefinition>

export const HookMatcher = z
  .object({ matcher: z.string().default('*'), hooks: z.array(HookDefinition).default([]) })
  .meta({ id: 'HookMatcher' })
export type HookMatcher = z.output<typeof HookMatcher>

/** The stages, by the name they have in events. */
export const hookStages = {
  PreToolUse: 'pre_tool_use',
  PostToolUse: 'post_tool_use',
  UserPromptSubmit: 'user_prompt_submit',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  Stop: 'stop',
} as const
export type HookEventType = keyof typeof hookStages
const pairs = Object.entries(hookStages) as [HookEventType, (typeof hookStages)[HookEventType]][]

const stage = z.array(HookMatcher).optional()
const stages = {
  pre_tool_use: stage,
  post_tool_use: stage,
  user_prompt_submit: stage,
  session_start: stage,
  session_end: stage,
  stop: stage,
  PreToolUse: stage,
  PostToolUse: stage,
  UserPromptSubmit: stage,
  SessionStart: stage,
  SessionEnd: stage,
  Stop: stage,
}
type Stages = Partial<Record<keyof typeof stages, HookMatcher[]>>

const eachOnce = ({ value, issues }: z.core.ParsePayload<Stages>) => {
  for (const [pascal, snake] of pairs)
    if (value[pascal] && value[snake])
      issues.push({ code: 'custom', input: value, path: [pascal], message: `${pascal} and ${snake} are one stage` })
}

const Written = z
  .strictObject({ ...stages, hooks: z.strictObject(stages).check(eachOnce).optional() })
  .check(eachOnce)
  .refine(written => !written.hooks || Object.keys(written).length === 1, { error: 'Nothing may stand beside hooks' })

const matchers = z.array(HookMatcher).default([])
const Read = z.strictObject({
  pre_tool_use: matchers,
  post_tool_use: matchers,
  user_prompt_submit: matchers,
  session_start: matchers,
  session_end: matchers,
  stop: matchers,
})

/** A caller may write the stages in PascalCase, and the whole inside `hooks`. */
export const HookConfig = z
  .codec(Written, Read, {
    decode: written => {
      const from = written.hooks ?? written
      return Object.fromEntries(pairs.map(([pascal, snake]) => [snake, from[snake] ?? from[pascal]]))
    },
    encode: read => Read.parse(read),
  })
  .meta({ id: 'HookConfig' })
export type HookConfig = z.output<typeof HookConfig>
