import * as z from 'zod'
import { dateTimeOut } from './common.ts'

export const WebhookInfo = z
  .object({
    id: z.string(),
    base_url: z.string(),
    /**
     * `failing`: something was not taken and is tried again; `suspended`: nothing was taken for a while, so one try at a time shows
     * whether it is again; `paused`: nothing is tried until it is resumed.
     */
    status: z.enum(['ok', 'failing', 'suspended', 'paused']),
    pending_conversations: z.int(),
    failing_conversations: z.int(),
    oldest_pending_at: dateTimeOut.nullable(),
    last_success_at: dateTimeOut.nullable(),
    last_error: z.object({ at: dateTimeOut, message: z.string(), status: z.int().nullable() }).nullable(),
    /** Events and reports on conversations that it took. */
    delivered: z.int(),
  })
  .meta({ id: 'WebhookInfo' })
export type WebhookInfo = z.output<typeof WebhookInfo>
