import * as z from 'zod'
import { textOrNull } from './common.ts'
import { LLM } from './llm.ts'
import { ProfileInfo } from './profiles.ts'

/** Each is shown whole with the settings. */
export const MAX_APP_PROFILES = 10

export const AppProfileName = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/)

export const AppProfileListResponse = z
  .object({
    profiles: z.array(ProfileInfo.pick({ name: true, model: true, base_url: true, api_key_set: true })),
    active_profile: textOrNull,
  })
  .meta({ id: 'AppProfileListResponse' })
export type AppProfileListResponse = z.output<typeof AppProfileListResponse>

/** A key that is null or masked stays as it is stored; "" clears it. */
export const SaveAppProfileRequest = z
  .object({
    include_secrets: z.boolean().default(true),
    llm: LLM.strict().nullish().meta({ description: 'The one of the settings unless given' }),
    preserve_existing_api_key: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether the profile keeps its key, or that it has none, whatever the LLM says' }),
  })
  .meta({ id: 'SaveAppProfileRequest' })
export type SaveAppProfileRequest = z.output<typeof SaveAppProfileRequest>

export const RenameAppProfileRequest = z.object({ new_name: AppProfileName }).meta({ id: 'RenameAppProfileRequest' })

export const ActivateAppProfileResponse = z
  .object({ name: z.string(), message: z.string(), model: textOrNull })
  .meta({ id: 'ActivateAppProfileResponse' })
export type ActivateAppProfileResponse = z.output<typeof ActivateAppProfileResponse>
