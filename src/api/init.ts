import * as z from 'zod'
import { textOrNull } from './common.ts'

export const InitStatus = z
  .object({ state: z.enum(['dormant', 'initializing', 'ready']), error: textOrNull })
  .meta({ id: 'InitStatus' })
