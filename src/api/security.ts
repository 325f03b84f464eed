import * as z from 'zod'
import { secretOrNull, textOrNull } from './common.ts'
import { LLM } from './llm.ts'

export const SecurityRisk = z.enum(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH']).meta({ id: 'SecurityRisk' })
export type SecurityRisk = z.output<typeof SecurityRisk>

export const NeverConfirm = z.object({ kind: z.literal('NeverConfirm') }).meta({ id: 'NeverConfirm' })
export const AlwaysConfirm = z.object({ kind: z.literal('AlwaysConfirm') }).meta({ id: 'AlwaysConfirm' })

/** Asks from `threshold` upwards. `UNKNOWN` is no threshold: whether it asks is `confirm_unknown`. */
export const ConfirmRisky = z
  .object({
    threshold: SecurityRisk.exclude(['UNKNOWN']).default('HIGH'),
    confirm_unknown: z.boolean().default(true),
    kind: z.literal('ConfirmRisky'),
  })
  .meta({ id: 'ConfirmRisky' })

export const ConfirmationPolicy = z
  .discriminatedUnion('kind', [NeverConfirm, AlwaysConfirm, ConfirmRisky])
  .meta({ id: 'ConfirmationPolicyBase' })
export type ConfirmationPolicy = z.output<typeof ConfirmationPolicy>

export const LLMSecurityAnalyzer = z
  .object({ kind: z.literal('LLMSecurityAnalyzer') })
  .meta({ id: 'LLMSecurityAnalyzer' })

/** Regular expression, description, name of the detector. Left out, the built-in patterns apply. */
const patterns = () => z.array(z.tuple([z.string(), z.string(), z.string()])).optional()

export const PatternSecurityAnalyzer = z
  .object({
    high_patterns: patterns(),
    medium_patterns: patterns(),
    injection_high_patterns: patterns(),
    injection_medium_patterns: patterns(),
    kind: z.literal('PatternSecurityAnalyzer'),
  })
  .meta({ id: 'PatternSecurityAnalyzer' })

export const PolicyRailSecurityAnalyzer = z
  .object({ kind: z.literal('PolicyRailSecurityAnalyzer') })
  .meta({ id: 'PolicyRailSecurityAnalyzer' })

export const GraySwanAnalyzer = z
  .object({
    history_limit: z.int().default(20),
    max_message_chars: z.int().default(30_000),
    timeout: z.number().default(30),
    low_threshold: z.number().default(0.3),
    medium_threshold: z.number().default(0.7),
    api_url: z.string().default('https://api.grayswan.ai/cygnal/monitor'),
    api_key: secretOrNull,
    policy_id: textOrNull,
    kind: z.literal('GraySwanAnalyzer'),
  })
  .meta({ id: 'GraySwanAnalyzer' })

export const ToolShieldLLMSecurityAnalyzer = z
  .object({
    llm: LLM,
    history_window: z.int().default(20),
    safety_experiences: z.string().default(''),
    kind: z.literal('ToolShieldLLMSecurityAnalyzer'),
  })
  .meta({ id: 'ToolShieldLLMSecurityAnalyzer' })

export const EnsembleSecurityAnalyzer = z
  .object({
    get analyzers() {
      return z.array(SecurityAnalyzer).min(1)
    },
    propagate_unknown: z.boolean().default(false),
    kind: z.literal('EnsembleSecurityAnalyzer'),
  })
  .meta({ id: 'EnsembleSecurityAnalyzer' })

export const SecurityAnalyzer = z
  .discriminatedUnion('kind', [
    LLMSecurityAnalyzer,
    PatternSecurityAnalyzer,
    PolicyRailSecurityAnalyzer,
    EnsembleSecurityAnalyzer,
    GraySwanAnalyzer,
    ToolShieldLLMSecurityAnalyzer,
  ])
  .meta({ id: 'SecurityAnalyzerBase' })
export type SecurityAnalyzer = z.output<typeof SecurityAnalyzer>
