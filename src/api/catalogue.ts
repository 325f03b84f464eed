import * as z from 'zod'
import { page, textOrNull } from './common.ts'

/** A model by name; `verified` ones are proposed first. */
export const LLMModel = z
  .object({
    provider: textOrNull,
    name: z.string(),
    verified: z.boolean().default(false),
    hidden: z.boolean().default(false),
    canonical: textOrNull,
  })
  .meta({ id: 'LLMModel' })
export type LLMModel = z.output<typeof LLMModel>
export const LLMModelPage = page('LLMModelPage', LLMModel)

export const Provider = z
  .object({ name: z.string(), verified: z.boolean().default(false) })
  .meta({ id: 'Provider', description: 'A provider of models' })
export type Provider = z.output<typeof Provider>
export const ProviderPage = page('ProviderPage', Provider)

export const ProvidersResponse = z.object({ providers: z.array(z.string()) }).meta({ id: 'ProvidersResponse' })
export const ModelsResponse = z.object({ models: z.array(z.string()) }).meta({ id: 'ModelsResponse' })
export const VerifiedModelsResponse = z
  .object({ models: z.record(z.string(), z.array(z.string())).meta({ description: 'Names of models by provider' }) })
  .meta({ id: 'VerifiedModelsResponse' })
