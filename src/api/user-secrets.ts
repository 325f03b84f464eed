import * as z from 'zod'
import { page } from './common.ts'
import { ProviderType } from './git-providers.ts'
import { secret } from './secret.ts'

/** Also a name for an environment variable. */
export const SecretName = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/)

export const ProviderToken = z
  .object({ token: secret().nullish(), host: z.string().nullish(), user_id: z.string().nullish() })
  .meta({ id: 'ProviderToken' })
export type ProviderToken = z.output<typeof ProviderToken>

/** By provider. */
export const ProviderTokens = z.record(z.string(), ProviderToken)
export type ProviderTokens = z.output<typeof ProviderTokens>

const CustomSecret = z
  .object({ secret: secret().nullish(), description: z.string().nullish() })
  .meta({ id: 'CustomSecret' })

/** An entry that is left out, and one that is null, stays as it is. */
export const UserSecrets = z
  .object({
    provider_tokens: z.record(z.string().min(1).max(64), z.union([secret(), ProviderToken, z.null()])).optional(),
    custom_secrets: z.record(SecretName, z.union([secret(), CustomSecret, z.null()])).optional(),
  })
  .meta({ id: 'UserSecrets' })
export type UserSecrets = z.output<typeof UserSecrets>

export const SecretCreateRequest = z
  .object({ name: SecretName, value: secret(), description: z.string().nullish() })
  .meta({ id: 'SecretCreateRequest' })
export type SecretCreateRequest = z.output<typeof SecretCreateRequest>

export const SecretItemResponse = z
  .object({ name: z.string(), description: z.string().nullish() })
  .meta({ id: 'SecretItemResponse' })
export type SecretItemResponse = z.output<typeof SecretItemResponse>

export const SecretsListResponse = z
  .object({ secrets: z.array(SecretItemResponse) })
  .meta({ id: 'SecretsListResponse' })
export type SecretsListResponse = z.output<typeof SecretsListResponse>

/** Those that are left out are removed. One without a token keeps the stored token. */
export const StoreProviderTokensRequest = z
  .object({ provider_tokens: z.partialRecord(ProviderType, ProviderToken).optional() })
  .meta({ id: 'StoreProviderTokensRequest' })

export const SecretPage = page('SecretPage', SecretItemResponse)
export type SecretPage = z.output<typeof SecretPage>

/** The value stays as it is. */
export const SecretUpdateRequest = z
  .object({ name: SecretName, description: z.string().nullish() })
  .meta({ id: 'SecretUpdateRequest' })
export type SecretUpdateRequest = z.output<typeof SecretUpdateRequest>

export const CustomSecretsResponse = z
  .object({ custom_secrets: z.array(SecretItemResponse) })
  .meta({ id: 'CustomSecretsResponse' })
