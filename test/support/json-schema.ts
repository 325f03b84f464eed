/** As much of JSON Schema as our own OpenAPI document is written in. */
// biome-ignore lint/suspicious/noExplicitAny: a schema is looked into, keyword by keyword
type Schema = any

export interface Findings {
  /** What the schema forbids: where, what it wants and what kind of thing is there. Never a value: it may be a secret. */
  issues: string[]
  /** Keys that the schema neither declares nor forbids. */
  undeclared: string[]
}

/** Compares a value with a schema of this document, whose references it follows. */
export function compare(document: object, schema: Schema, value: unknown, at = ''): Findings {
  const issues: string[] = []
  const undeclared: string[] = []
  const wrong = (wanted: string) => issues.push(`${at || 'the whole'} should be ${wanted} and is ${kindOf(value)}`)
  const inside = (part: Schema, item: unknown, name: string) => {
    const found = compare(document, part, item, `${at}${name}`)
    issues.push(...found.issues)
    undeclared.push(...found.undeclared)
  }

  if (schema.$ref) inside(resolve(document, schema.$ref), value, '')
  for (const part of schema.allOf ?? []) inside(part, value, '')
  const options = schema.anyOf ?? schema.oneOf
  if (options) {
    const found = bestOf(document, options, value, at)
    issues.push(...found.issues)
    undeclared.push(...found.undeclared)
  }
  const types: string[] = [schema.type ?? []].flat()
  if (types.length > 0 && !types.some(type => isOf(type, value))) wrong(types.join(' or '))
  if ('const' in schema && value !== schema.const) wrong(JSON.stringify(schema.const))
  if (schema.enum && !schema.enum.includes(value)) wrong(`one of ${schema.enum.join(', ')}`)
  if (schema.not && compare(document, schema.not, value).issues.length === 0) wrong('something else')
  if (typeof value === 'string') {
    if (value.length < schema.minLength || value.length > schema.maxLength) wrong('of another length')
    if (schema.pattern && !new RegExp(schema.pattern, 'u').test(value)) wrong(`like ${schema.pattern}`)
    if (FORMATS[schema.format]?.test(value) === false) wrong(`a ${schema.format}`)
  }
  if (typeof value === 'number') {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
    if (value < minimum || value > maximum || value <= exclusiveMinimum || value >= exclusiveMaximum)
      wrong('within its bounds')
  }
  if (Array.isArray(value)) {
    if (value.length < schema.minItems || value.length > schema.maxItems) wrong('of another length')
    for (const [i, item] of value.entries()) inside(schema.prefixItems?.[i] ?? schema.items ?? {}, item, '[]')
  } else if (typeof value === 'object' && value !== null) {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) issues.push(`${at}.${name} is missing`)
    for (const [name, item] of Object.entries(value)) {
      const { properties = {}, additionalProperties: others } = schema
      if (schema.propertyNames) inside(schema.propertyNames, name, '.*')
      if (Object.hasOwn(properties, name)) inside(properties[name], item, `.${name}`)
      else if (others === false) issues.push(`${at}.${name} is not allowed`)
      else if (others) inside(others, item, '.*')
      else if (schema.properties) undeclared.push(`${at}.${name}`)
    }
  }
  return { issues, undeclared }
}

/** The one it fits with the least left over; where it fits none, the one that it says it is. */
function bestOf(document: object, options: Schema[], value: unknown, at: string): Findings {
  const found = options.map(option => compare(document, option, value, at))
  const fitting = found.filter(({ issues }) => issues.length === 0)
  if (fitting.length > 0) return fitting.reduce((a, b) => (b.undeclared.length < a.undeclared.length ? b : a))
  const meant = options.findIndex(option => says(resolve(document, option.$ref) ?? option, value))
  return found[meant] ?? { issues: [`${at || 'the whole'} fits none of ${options.length}`], undeclared: [] }
}

/** Whether a constant of the schema is in the value: by that it names itself. */
const says = (schema: Schema, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries<Schema>(schema.properties ?? {}).some(
    ([name, part]) => part.const !== undefined && (value as Record<string, unknown>)[name] === part.const,
  )

const resolve = (document: object, reference: string | undefined): Schema =>
  reference
    ?.slice('#/'.length)
    .split('/')
    .reduce<Schema>((part, name) => part[name], document)

const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uuid: /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : value === '' ? 'empty' : typeof value

const isOf = (type: string, value: unknown): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === 'string' ? typeof value === 'string' : kindOf(value) === type
