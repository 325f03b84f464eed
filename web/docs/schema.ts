import { type Content, folded, h } from './dom.ts'
import type { OpenApi, Schema } from './openapi.ts'

/** Shows schemas of one document. Inner objects are made when unfolded, so a schema may contain itself. */
export interface Schemas {
  typeOf(schema: Schema): string
  view(schema: Schema): Content[]
  /** The smallest value that could be sent: required fields only. */
  example(schema: Schema): unknown
  resolve(schema: Schema): Schema
}

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)
const union = (types: string[]): string => [...new Set(types)].join(' | ')
const variantsOf = (schema: Schema): Schema[] | undefined => schema.anyOf ?? schema.oneOf
const valuesOf = (schema: Schema): Schema | undefined =>
  schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined)

export function schemasOf(document: OpenApi): Schemas {
  function resolve(schema: Schema, seen: string[] = []): Schema {
    const { $ref, ...rest } = schema
    if (!$ref || seen.includes($ref)) return rest
    return { ...resolve(document.components?.schemas?.[nameOf($ref)] ?? {}, [...seen, $ref]), ...rest }
  }

  function typeOf(schema: Schema): string {
    if (schema.$ref) return nameOf(schema.$ref)
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum) return union(schema.enum.map(value => JSON.stringify(value)))
    const variants = variantsOf(schema)
    if (variants) return union(variants.map(typeOf))
    if (schema.allOf) return schema.allOf.map(typeOf).join(' & ')
    if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(', ')}]`
    const values = valuesOf(schema)
    if (schema.items && values) return /[|&]/.test(typeOf(values)) ? `(${typeOf(values)})[]` : `${typeOf(values)}[]`
    if (values && !schema.properties) return `map<string, ${typeOf(values)}>`
    const type = union([schema.type ?? 'any'].flat())
    return schema.format ? `${type} (${schema.format})` : type
  }

  function isDeep(schema: Schema, seen: Set<string> = new Set()): boolean {
    if (schema.$ref) {
      if (seen.has(schema.$ref)) return false
      seen.add(schema.$ref)
    }
    const { properties, prefixItems = [], allOf = [], ...rest } = resolve(schema)
    if (properties && Object.keys(properties).length > 0) return true
    const values = valuesOf(rest)
    return [...(variantsOf(rest) ?? []), ...prefixItems, ...allOf, ...(values ? [values] : [])].some(part =>
      isDeep(part, seen),
    )
  }

  const unfoldable = (schema: Schema): Content =>
    isDeep(schema)
      ? folded(h('code', {}, typeOf(schema)), () => view(schema))
      : h('p', {}, h('code', {}, typeOf(schema)))

  function property(name: string, schema: Schema, required: boolean): HTMLElement {
    const resolved = resolve(schema)
    const facts = [required ? 'required' : '', ...limitsOf(resolved)].filter(Boolean).join(', ')
    const type = isDeep(schema) ? [] : [h('code', { className: 'type' }, typeOf(schema))]
    return h(
      'li',
      {},
      h('code', { className: 'name' }, name),
      ' ',
      ...type,
      h('span', { className: 'quiet' }, facts && ` ${facts}`),
      ...(resolved.description ? [h('p', { className: 'quiet' }, resolved.description)] : []),
      ...(isDeep(schema) ? [unfoldable(schema)] : []),
    )
  }

  function view(schema: Schema, seen: string[] = []): Content[] {
    if (schema.$ref && seen.includes(schema.$ref)) return [h('p', {}, h('code', {}, typeOf(schema)))]
    const within = schema.$ref ? [...seen, schema.$ref] : seen
    const whole = resolve(schema)
    const { properties, required = [], allOf, prefixItems } = whole
    if (allOf) return allOf.flatMap(part => view(part, within))
    const variants = variantsOf(whole)
    if (variants) return [h('div', { className: 'variants' }, ...variants.map(unfoldable))]
    if (prefixItems) return [h('div', { className: 'variants' }, ...prefixItems.map(unfoldable))]
    if (properties && Object.keys(properties).length > 0) {
      const rows = Object.entries(properties).map(([name, part]) => property(name, part, required.includes(name)))
      return [h('ul', { className: 'schema' }, ...rows)]
    }
    const values = valuesOf(whole)
    if (values && isDeep(values)) return [h('p', {}, h('code', {}, typeOf(whole))), ...view(values, within)]
    return [h('p', {}, h('code', {}, typeOf(whole)))]
  }

  function example(schema: Schema, seen: string[] = []): unknown {
    if (schema.$ref && seen.includes(schema.$ref)) return null
    const within = schema.$ref ? [...seen, schema.$ref] : seen
    const whole = resolve(schema)
    const given = [whole.const, whole.default, whole.examples?.[0], whole.enum?.[0]].find(value => value !== undefined)
    if (given !== undefined) return given
    const variants = variantsOf(whole)
    const variant = variants?.find(one => one.type !== 'null')
    if (variant) return example(variant, within)
    if (whole.allOf) return Object.assign({}, ...whole.allOf.map(part => example(part, within)))
    if (whole.properties) {
      const { properties, required = [] } = whole
      const isKind = (name: string) => name === 'kind' && properties[name]?.const !== undefined
      const names = Object.keys(properties).filter(name => required.includes(name) || isKind(name))
      return Object.fromEntries(names.map(name => [name, example(properties[name]!, within)]))
    }
    const byType: Record<string, unknown> = { object: {}, array: [], integer: 0, number: 0, boolean: false, null: null }
    const type = [whole.type ?? 'string'].flat()[0] ?? 'string'
    return Object.hasOwn(byType, type) ? byType[type] : ''
  }

  return {
    typeOf,
    view: schema => view(schema),
    example: schema => example(schema),
    resolve: schema => resolve(schema),
  }
}

function limitsOf(schema: Schema): string[] {
  const limits: [string, unknown][] = [
    ['at least', schema.minimum],
    ['more than', schema.exclusiveMinimum],
    ['at most', schema.maximum],
    ['less than', schema.exclusiveMaximum],
    ['min length', schema.minLength],
    ['max length', schema.maxLength],
    ['min items', schema.minItems],
    ['max items', schema.maxItems],
    ['pattern', schema.pattern],
    ['default', schema.default === undefined ? undefined : JSON.stringify(schema.default)],
  ]
  return limits.filter(([, value]) => value !== undefined).map(([words, value]) => `${words} ${value}`)
}
