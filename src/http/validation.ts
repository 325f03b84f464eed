import * as z from 'zod'
import { unwrap } from '../api/secret.ts'
import { ECHO_CHARACTERS } from './limits.ts'

export type Place = 'body' | 'query' | 'path' | 'header'

export interface Detail {
  type: string
  loc: (string | number)[]
  msg: string
  input?: unknown
}

/** A request that does not fit its declaration: all that is wrong with it, at once. */
export class Invalid extends Error {
  readonly details: Detail[]

  constructor(details: Detail[]) {
    super('The request is not valid')
    this.details = details
  }
}

/** The parsed value, or what is wrong added to `details`. */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  place: Place,
  details: Detail[],
): z.output<S> | undefined {
  try {
    const result = z.safeParse(schema, value, { reportInput: true, error: noticeInteger })
    if (result.success) return result.data
    details.push(...result.error.issues.flatMap(issue => describe(issue, [place])))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    details.push({ type: 'recursion_loop', loc: [place], msg: 'Input is nested too deeply' })
  }
  return undefined
}

/** Zod says "number" of an integer that is none: this tells `describe` which it was. */
const noticeInteger = ({ code, inst }: z.core.$ZodRawIssue): string | undefined =>
  code === 'invalid_type' && inst instanceof z.ZodNumberFormat ? INTEGER : undefined
const INTEGER = 'integer'

type Issue = z.core.$ZodIssue
type Loc = (string | number)[]

const TYPES: Record<string, [type: string, msg: string]> = {
  string: ['string_type', 'Input should be a valid string'],
  number: ['float_type', 'Input should be a valid number'],
  int: ['int_type', 'Input should be a valid integer'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid list'],
  object: ['dict_type', 'Input should be a valid dictionary'],
  record: ['dict_type', 'Input should be a valid dictionary'],
  null: ['none_required', 'Input should be None'],
}

function describe(issue: Issue, base: Loc): Detail[] {
  const loc: Loc = [...base, ...issue.path.map(key => (typeof key === 'number' ? key : String(key)))]
  const detail = (type: string, msg: string): Detail[] => [withInput({ type, loc, msg }, issue.input)]
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return [{ type: 'missing', loc, msg: 'Field required' }]
      const expected = issue.message === INTEGER ? 'int' : issue.expected
      if (base[0] !== 'body' && typeof issue.input === 'string' && expected in PARSING)
        return detail(...PARSING[expected]!)
      if (expected === 'int' && typeof issue.input === 'number')
        return detail('int_from_float', 'Input should be a valid integer, got a number with a fractional part')
      return detail(...(TYPES[expected] ?? ['value_error', issue.message]))
    }
    case 'invalid_value': {
      if (issue.input === undefined) return [{ type: 'missing', loc, msg: 'Field required' }]
      const choices = issue.values.map(value => `'${String(value)}'`).join(', ')
      return detail(issue.values.length === 1 ? 'literal_error' : 'enum', `Input should be ${choices}`)
    }
    case 'too_small':
    case 'too_big':
      return detail(...bound(issue))
    case 'invalid_format':
      return 'pattern' in issue && issue.pattern
        ? detail('string_pattern_mismatch', `String should match pattern '${issue.pattern.replace(/^\/|\/\w*$/g, '')}'`)
        : detail('value_error', issue.message)
    case 'unrecognized_keys':
      return issue.keys.map(key => ({
        type: 'extra_forbidden',
        loc: [...loc, key],
        msg: 'Extra inputs are not permitted',
      }))
    case 'invalid_union':
      return union(issue, loc)
    case 'custom':
      return detail((issue.params?.type as string | undefined) ?? 'value_error', issue.message)
    default:
      return detail('value_error', issue.message)
  }
}

const PARSING: Record<string, [string, string]> = {
  int: ['int_parsing', 'Input should be a valid integer, unable to parse string as an integer'],
  number: ['float_parsing', 'Input should be a valid number, unable to parse string as a number'],
  boolean: ['bool_parsing', 'Input should be a valid boolean, unable to interpret input'],
}

function bound(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): [string, string] {
  const small = issue.code === 'too_small'
  const limit = Number(small ? issue.minimum : issue.maximum)
  const inclusive = issue.inclusive ?? true
  if (issue.origin === 'string')
    return small
      ? ['string_too_short', `String should have at least ${limit} character${limit === 1 ? '' : 's'}`]
      : ['string_too_long', `String should have at most ${limit} characters`]
  if (issue.origin === 'array')
    return [small ? 'too_short' : 'too_long', `List should have at ${small ? 'least' : 'most'} ${limit} items`]
  const [type, words] = small ? ['greater_than', 'greater than'] : ['less_than', 'less than']
  return inclusive
    ? [`${type}_equal`, `Input should be ${words} or equal to ${limit}`]
    : [type, `Input should be ${words} ${limit}`]
}

/** Of a union's branches the one that came nearest speaks: it got deepest, or found least amiss. */
function union(issue: z.core.$ZodIssueInvalidUnion, loc: Loc): Detail[] {
  if (issue.input === undefined) return [{ type: 'missing', loc, msg: 'Field required' }]
  const branches = issue.errors.filter(errors => errors.length > 0)
  if (branches.length === 0) {
    const tag = 'discriminator' in issue ? String(issue.discriminator) : 'kind'
    const given = String((issue.input as Record<string, unknown> | null)?.[tag] ?? '')
    return [withInput({ type: 'union_tag_invalid', loc, msg: `Unknown ${tag} '${given.slice(0, 100)}'` }, issue.input)]
  }
  const depth = (errors: Issue[]) => Math.max(...errors.map(error => error.path.length))
  const best = branches.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0]!
  return best.flatMap(error => describe(error, loc))
}

function withInput(detail: Detail, input: unknown): Detail {
  if (input === undefined) return detail
  const shown = detail.loc.some(looksSecret) || detail.loc.some(isEnvironment) ? REDACTED : redact(input, 0)
  return (JSON.stringify(shown)?.length ?? 0) > ECHO_CHARACTERS ? detail : { ...detail, input: shown }
}

const REDACTED = '<redacted>'
const SECRET_NAME = /auth|cookie|credential|key|password|secret|session|token|^value$/i
const looksSecret = (key: string | number) => typeof key === 'string' && SECRET_NAME.test(key)
const isEnvironment = (key: string | number) => typeof key === 'string' && /^env(ironment)?$|headers$/i.test(key)

function redact(value: unknown, depth: number): unknown {
  if (value === null || typeof value !== 'object') return value
  if (depth > 8) return '…'
  if (Array.isArray(value)) return value.map(item => redact(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      looksSecret(key) || isEnvironment(key) ? REDACTED : redact(item, depth + 1),
    ]),
  )
}

const TRUE = /^(true|1|yes|on|t|y)$/i
const FALSE = /^(false|0|no|off|f|n)$/i

/** Query text as the values its schema speaks of. What cannot be read stays text, and the schema says so. */
export function readQuery(schema: z.ZodObject, query: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(schema.shape)) {
    if (!query.has(key)) continue
    const inner = unwrap(field) as z.core.$ZodTypes
    values[key] =
      inner._zod.def.type === 'array'
        ? query.getAll(key).map(text => scalar(unwrap((inner as z.core.$ZodArray)._zod.def.element), text))
        : scalar(inner, query.getAll(key).at(-1)!)
  }
  return values
}

function scalar(schema: z.core.$ZodType, text: string): unknown {
  switch ((schema as z.core.$ZodTypes)._zod.def.type) {
    case 'number':
      return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text
    case 'boolean':
      return TRUE.test(text) ? true : FALSE.test(text) ? false : text
    default:
      return text
  }
}
