import * as z from 'zod'
import { parseTime } from '../../lib/time.ts'
import { orNull, uuid } from '../common.ts'

/** Messages carry pictures as data URLs, and orders carry whole skill libraries: several MB are normal. In bytes. */
export const LARGE_BODY = 32 * 1024 * 1024

export const params = z.object({ conversation_id: uuid() })
/** The cursor that the page before gave; an unknown one starts from the beginning. */
export const pageId = orNull(z.string())
export const limit = z.int().min(1).max(100).default(100)

/** ISO 8601; without an offset it is UTC, as the events' own timestamps are. */
export const time = z
  .string()
  .refine(text => parseTime(text) !== undefined, {
    error: 'Input should be a valid datetime',
    params: { type: 'datetime_parsing' },
  })
  .meta({ format: 'date-time' })
