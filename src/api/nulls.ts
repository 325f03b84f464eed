import type * as z from 'zod'
import { optionFor } from './secret.ts'

/**
 * A copy with null for every field that its schema allows to be null and that is not there. Events are kept and
 * streamed without nulls; a single one is shown with them.
 */
export function withNulls(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value
  const def = (schema as z.core.$ZodTypes)._zod.def
  switch (def.type) {
    case 'object': {
      const copy: Record<string, unknown> = { ...(value as object) }
      for (const [key, field] of Object.entries(def.shape)) {
        if (copy[key] !== undefined) copy[key] = withNulls(field, copy[key])
        else if (allowsNull(field)) copy[key] = null
      }
      return copy
    }
    case 'array':
      return (value as unknown[]).map(item => withNulls(def.element, item))
    case 'union': {
      const option = optionFor(def, value)
      return option ? withNulls(option, value) : value
    }
    case 'lazy':
      return withNulls(def.getter(), value)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return withNulls(def.innerType, value)
    default:
      return value
  }
}

function allowsNull(schema: z.core.$ZodType): boolean {
  const def = (schema as z.core.$ZodTypes)._zod.def
  if (def.type === 'nullable' || def.type === 'unknown') return true
  return 'innerType' in def && allowsNull(def.innerType as z.core.$ZodType)
}
