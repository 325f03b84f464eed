import * as z from 'zod'
import { textOrNull } from './common.ts'
import { secret } from './secret.ts'

/** One for each account that somebody has somewhere, and all of them lie in one document. */
export const MAX_PROVIDER_CONNECTIONS = 64

const words = () => z.string().min(1).max(128)
const key = () => secret().min(1).regex(/\S/)
const address = () => z.string().max(2048).nullable()

export const ProviderConnectionCreateRequest = z
  .strictObject({
    display_name: words(),
    provider: words().default('custom'),
    api_key: key(),
    base_url: address().default(null),
  })
  .meta({ id: 'ProviderConnectionCreateRequest' })
export type ProviderConnectionCreateRequest = z.output<typeof ProviderConnectionCreateRequest>

/** What is left out stays. Only `base_url` may become null: a connection without a key connects nothing. */
export const ProviderConnectionUpdateRequest = z
  .strictObject({
    display_name: words().optional(),
    provider: words().optional(),
    api_key: key().optional(),
    base_url: address().optional(),
  })
  .refine(change => Object.keys(change).length > 0, { error: 'Nothing to change: send at least one field' })
  .meta({ id: 'ProviderConnectionUpdateRequest' })
export type ProviderConnectionUpdateRequest = z.output<typeof ProviderConnectionUpdateRequest>

/** Times are in seconds since 1970. */
export const ProviderConnectionResponse = z
  .object({
    id: z.string(),
    display_name: z.string(),
    provider: z.string(),
    base_url: textOrNull,
    created_at: z.int(),
    updated_at: z.int(),
    api_key_set: z.boolean().default(false),
  })
  .meta({ id: 'ProviderConnectionResponse' })
export type ProviderConnectionResponse = z.output<typeof ProviderConnectionResponse>
