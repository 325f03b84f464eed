import * as z from 'zod'
import { orNull } from './common.ts'
import { LLM } from './llm.ts'

const share = () => z.number().gt(0).lt(1)

export const LLMSummarizingCondenser = z
  .object({
    llm: LLM,
    max_size: z.int().gt(0).default(240),
    max_tokens: orNull(z.int()),
    keep_first: z.int().min(0).default(2),
    minimum_progress: share().default(0.1),
    hard_context_reset_max_retries: z.int().gt(0).default(5),
    hard_context_reset_context_scaling: share().default(0.8),
    kind: z.literal('LLMSummarizingCondenser'),
  })
  .meta({ id: 'LLMSummarizingCondenser' })
export type LLMSummarizingCondenser = z.output<typeof LLMSummarizingCondenser>

export const NoOpCondenser = z.object({ kind: z.literal('NoOpCondenser') }).meta({ id: 'NoOpCondenser' })

export const PipelineCondenser = z
  .object({
    get condensers() {
      return z.array(Condenser)
    },
    kind: z.literal('PipelineCondenser'),
  })
  .meta({ id: 'PipelineCondenser' })

export const Condenser = z
  .discriminatedUnion('kind', [LLMSummarizingCondenser, NoOpCondenser, PipelineCondenser])
  .meta({ id: 'CondenserBase' })
export type Condenser = z.output<typeof Condenser>

const LLMSummarizingCondenserSettings = z
  .object({
    enabled: z.boolean().default(true),
    max_size: z.int().min(20).default(240),
    condenser_kind: z.literal('llm_summarizing').optional().default('llm_summarizing'),
    max_tokens: orNull(z.int().gt(0)),
    keep_first: z.int().min(0).default(2),
    minimum_progress: share().default(0.1),
    hard_context_reset_max_retries: z.int().gt(0).default(5),
    hard_context_reset_context_scaling: share().default(0.8),
  })
  .meta({ id: 'LLMSummarizingCondenserSettings' })

const NoOpCondenserSettings = z
  .object({ enabled: z.boolean().default(true), condenser_kind: z.literal('no_op') })
  .meta({ id: 'NoOpCondenserSettings' })

export const CondenserSettings = z.discriminatedUnion('condenser_kind', [
  LLMSummarizingCondenserSettings,
  NoOpCondenserSettings,
])
export type CondenserSettings = z.output<typeof CondenserSettings>

/** Null when condensing is switched off. */
export function condenserFromSettings(settings: CondenserSettings, llm: LLM): z.input<typeof Condenser> | null {
  if (!settings.enabled) return null
  if (settings.condenser_kind === 'no_op') return { kind: 'NoOpCondenser' }
  const { enabled, condenser_kind, ...limits } = settings
  return { kind: 'LLMSummarizingCondenser', llm, ...limits }
}
