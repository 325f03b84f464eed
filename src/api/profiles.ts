import * as z from 'zod'
import { textOrNull } from './common.ts'
import { LLM } from './llm.ts'

/** A choice in a menu, and all of them lie in one document: more would help nobody. */
export const MAX_PROFILES = 50

export const ProfileName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)

export const ProfileInfo = z
  .object({
    name: z.string(),
    model: textOrNull,
    base_url: textOrNull,
    provider_connection_id: textOrNull,
    provider_connection_broken: z.boolean().default(false),
    api_key_set: z.boolean().default(false).meta({ description: 'Or that it needs none' }),
  })
  .meta({ id: 'ProfileInfo' })
export type ProfileInfo = z.output<typeof ProfileInfo>

export const ProfileListResponse = z
  .object({ profiles: z.array(ProfileInfo), active_profile: textOrNull })
  .meta({ id: 'ProfileListResponse' })
export type ProfileListResponse = z.output<typeof ProfileListResponse>

export const ProfileDetailResponse = z
  .object({ name: z.string(), config: LLM, api_key_set: z.boolean().default(false) })
  .meta({ id: 'ProfileDetailResponse' })
export type ProfileDetailResponse = z.output<typeof ProfileDetailResponse>

export const ProfileMutationResponse = z
  .object({ name: z.string(), message: z.string() })
  .meta({ id: 'ProfileMutationResponse' })
export type ProfileMutationResponse = z.output<typeof ProfileMutationResponse>

/** The mask keeps the secret that is stored in its place; null and "" clear it. */
export const SaveProfileRequest = z
  .object({
    llm: LLM,
    include_secrets: z.boolean().default(true).meta({ description: 'Whether to store the secrets too' }),
  })
  .meta({ id: 'SaveProfileRequest' })
export type SaveProfileRequest = z.output<typeof SaveProfileRequest>

export const RenameProfileRequest = z.object({ new_name: ProfileName }).meta({ id: 'RenameProfileRequest' })

export const ActivateProfileResponse = z
  .object({ name: z.string(), message: z.string(), llm_applied: z.boolean().default(true) })
  .meta({ id: 'ActivateProfileResponse' })
export type ActivateProfileResponse = z.output<typeof ActivateProfileResponse>

export const ValidateProfileRequest = z.object({ llm: LLM }).meta({ id: 'ValidateProfileRequest' })

export const ValidateProfileError = z
  .object({ type: z.string(), message: z.string() })
  .meta({ id: 'ValidateProfileError' })

export const ValidateProfileResponse = z
  .object({ valid: z.boolean(), error: z.nullable(ValidateProfileError).default(null) })
  .meta({ id: 'ValidateProfileResponse' })
export type ValidateProfileResponse = z.output<typeof ValidateProfileResponse>

export const SwitchProfileRequest = z.object({ profile_name: ProfileName })
