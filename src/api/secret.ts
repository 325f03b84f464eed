import * as z from 'zod'

/**
 * A string that must never be readable where secrets have no business. The mark is `format: password`:
 * it shows in the OpenAPI document, and every function that seals, masks or drops secrets goes by it.
 */
export const secret = () => z.string().meta({ format: 'password' })

/** What stands for a secret wherever it may not be read. Sent back, it means "unchanged". */
export const MASK = '**********'

type Replace = (value: string, path: (string | number)[]) => string | null | undefined

/**
 * A copy of `value` with every secret leaf of `schema` replaced. `undefined` drops a map entry and nulls a field.
 * `value` must already satisfy `schema`.
 */
export function mapSecrets<T>(schema: z.ZodType, value: T, replace: Replace): T {
  return walk(schema as z.core.$ZodType, value, replace, []) as T
}

function walk(schema: z.core.$ZodType, value: unknown, replace: Replace, path: (string | number)[]): unknown {
  if (value === null || value === undefined) return value
  const def = (schema as z.core.$ZodTypes)._zod.def
  switch (def.type) {
    case 'string':
      return isSecret(schema) && typeof value === 'string' ? (replace(value, path) ?? null) : value
    case 'object': {
      const copy: Record<string, unknown> = { ...(value as object) }
      for (const [key, field] of Object.entries(def.shape))
        if (key in copy) copy[key] = walk(field, copy[key], replace, [...path, key])
      return copy
    }
    case 'array':
      return Array.isArray(value) ? value.map((item, i) => walk(def.element, item, replace, [...path, i])) : value
    case 'record': {
      const copy: Record<string, unknown> = {}
      for (const [key, item] of Object.entries(value as object)) {
        const at = [...path, key]
        const mapped =
          typeof item === 'string' && isSecret(branch(def.valueType, item))
            ? replace(item, at)
            : walk(def.valueType, item, replace, at)
        if (mapped !== undefined) copy[key] = mapped
      }
      return copy
    }
    case 'union':
      return walk(branch(schema, value), value, replace, path)
    case 'lazy':
      return walk(def.getter(), value, replace, path)
    case 'pipe':
      return walk(def.out, value, replace, path)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return walk(def.innerType, value, replace, path)
    default:
      return value
  }
}

/** The schema that really describes a value. Throws where none does: to go on would let a secret through. */
function branch(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  const inner = unwrap(schema)
  const def = (inner as z.core.$ZodTypes)._zod.def
  if (def.type !== 'union') return inner
  const option = optionFor(def, value)
  if (!option) throw new Error('A value does not fit the schema by which its secrets are to be found')
  return branch(option, value)
}

/** The branch of a union that a value takes: by its tag where there is one, for trying them all costs a parse each. */
export function optionFor(def: z.core.$ZodUnionDef, value: unknown): z.core.$ZodType | undefined {
  const tag =
    'discriminator' in def ? (value as Record<string, z.core.util.Primitive>)[String(def.discriminator)] : undefined
  const tagged =
    tag === undefined
      ? undefined
      : def.options.find(option =>
          option._zod.propValues?.[String((def as { discriminator?: string }).discriminator)]?.has(tag),
        )
  return tagged ?? def.options.find(option => z.safeParse(option, value).success)
}

/** The schema inside `optional`, `nullable`, `default` and their like. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const def = (schema as z.core.$ZodTypes)._zod.def
  return 'innerType' in def ? unwrap(def.innerType as z.core.$ZodType) : schema
}

const isSecret = (schema: z.core.$ZodType) => z.globalRegistry.get(schema)?.format === 'password'
