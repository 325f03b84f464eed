import * as z from 'zod'

export const VSCodeUrlResponse = z.object({ url: z.string().nullable() }).meta({ id: 'VSCodeUrlResponse' })

export const VSCodeStatus = z
  .object({
    running: z.boolean(),
    enabled: z.boolean(),
    /** Why there is none. */
    message: z.string().optional(),
  })
  .meta({ id: 'VSCodeStatus' })
export type VSCodeStatus = z.output<typeof VSCodeStatus>
