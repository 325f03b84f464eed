import * as z from 'zod'
import { anyMap, orNull, secretOrNull, textOrNull } from './common.ts'
import { secret } from './secret.ts'

const score = () => z.number().min(0).max(1)
const mode = () => z.enum(['finish_and_message', 'all_actions']).default('finish_and_message')

const IterativeRefinementConfig = z
  .object({ success_threshold: score().default(0.6), max_iterations: z.int().min(1).default(3) })
  .meta({ id: 'IterativeRefinementConfig' })

const common = () => ({ mode: mode(), iterative_refinement: orNull(IterativeRefinementConfig) })

export const AgentFinishedCritic = z
  .object({ ...common(), kind: z.literal('AgentFinishedCritic') })
  .meta({ id: 'AgentFinishedCritic' })
export const EmptyPatchCritic = z
  .object({ ...common(), kind: z.literal('EmptyPatchCritic') })
  .meta({ id: 'EmptyPatchCritic' })
export const PassCritic = z.object({ ...common(), kind: z.literal('PassCritic') }).meta({ id: 'PassCritic' })

export const APIBasedCritic = z
  .object({
    server_url: z.string().default('https://llm-proxy.app.all-hands.dev/vllm'),
    /** Null only where secrets are not shown. */
    api_key: secret().nullable(),
    model_name: z.string().default('critic'),
    tokenizer_name: z.string().default('Qwen/Qwen3-4B-Instruct-2507'),
    pass_tools_definitions: z.boolean().default(true),
    timeout_seconds: z.number().default(300),
    has_success_label: z.boolean().default(true),
    sentiment_labels: z.array(z.string()).default(['sentiment_positive', 'sentiment_neutral', 'sentiment_negative']),
    agent_issue_labels: z
      .array(z.string())
      .default([
        'misunderstood_intention',
        'did_not_follow_instruction',
        'insufficient_analysis',
        'insufficient_clarification',
        'improper_tool_use_or_setup',
        'loop_behavior',
        'insufficient_testing',
        'insufficient_debugging',
        'incomplete_implementation',
        'file_management_errors',
        'scope_creep',
        'risky_actions_or_permission',
        'other_agent_issue',
      ]),
    infra_labels: z.array(z.string()).default(['infrastructure_external_issue', 'infrastructure_agent_caused_issue']),
    user_followup_labels: z
      .array(z.string())
      .default([
        'clarification_or_restatement',
        'correction',
        'direction_change',
        'vcs_update_requests',
        'progress_or_scope_concern',
        'frustration_or_complaint',
        'removal_or_reversion_request',
        'other_user_issue',
      ]),
    sentiment_map: z.record(z.string(), z.string()).default({
      Positive: 'sentiment_positive',
      Neutral: 'sentiment_neutral',
      Negative: 'sentiment_negative',
    }),
    ...common(),
    issue_threshold: score().default(0.75),
    kind: z.literal('APIBasedCritic'),
  })
  .meta({ id: 'APIBasedCritic' })

export const Critic = z
  .discriminatedUnion('kind', [AgentFinishedCritic, APIBasedCritic, EmptyPatchCritic, PassCritic])
  .meta({ id: 'CriticBase' })
export type Critic = z.output<typeof Critic>

export const CriticResult = z
  .object({ score: score(), message: z.string().nullable(), metadata: anyMap.nullish() })
  .meta({ id: 'CriticResult' })
export type CriticResult = z.output<typeof CriticResult>

export const VerificationSettings = z
  .object({
    critic_enabled: z.boolean().default(false),
    critic_mode: mode(),
    enable_iterative_refinement: z.boolean().default(false),
    critic_threshold: score().default(0.6),
    max_refinement_iterations: z.int().min(1).default(3),
    critic_server_url: textOrNull,
    critic_model_name: textOrNull,
    critic_api_key: secretOrNull,
  })
  .meta({ id: 'VerificationSettings' })
export type VerificationSettings = z.output<typeof VerificationSettings>

/** Null without a key of the critic's own: the model's key is not for another server. */
export function criticFromSettings(settings: VerificationSettings): z.input<typeof Critic> | null {
  if (!settings.critic_enabled || settings.critic_api_key === null) return null
  return {
    kind: 'APIBasedCritic',
    api_key: settings.critic_api_key,
    server_url: settings.critic_server_url ?? undefined,
    model_name: settings.critic_model_name ?? undefined,
    mode: settings.critic_mode,
    iterative_refinement: settings.enable_iterative_refinement
      ? { success_threshold: settings.critic_threshold, max_iterations: settings.max_refinement_iterations }
      : null,
  }
}
