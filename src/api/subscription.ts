import * as z from 'zod'

const vendor = z.literal('openai')

export const SubscriptionModelsResponse = z
  .object({ vendor, models: z.array(z.string()) })
  .meta({ id: 'SubscriptionModelsResponse' })
export type SubscriptionModelsResponse = z.output<typeof SubscriptionModelsResponse>

export const SubscriptionStatusResponse = z
  .object({
    vendor,
    connected: z.boolean(),
    account_email: z.string().nullable(),
    /** Unix milliseconds. */
    expires_at: z.int().nullable(),
  })
  .meta({ id: 'SubscriptionStatusResponse' })
export type SubscriptionStatusResponse = z.output<typeof SubscriptionStatusResponse>

export const SubscriptionDeviceStartResponse = z
  .object({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string().nullable(),
    /** Unix milliseconds. */
    expires_at: z.int(),
    interval_seconds: z.int(),
  })
  .meta({ id: 'SubscriptionDeviceStartResponse' })
export type SubscriptionDeviceStartResponse = z.output<typeof SubscriptionDeviceStartResponse>

export const SubscriptionDevicePollRequest = z
  .object({ device_code: z.string() })
  .meta({ id: 'SubscriptionDevicePollRequest' })
