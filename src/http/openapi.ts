import * as z from 'zod'
import { type ErrorCode, statusOf } from '../api/errors.ts'
import { isRaw, type Raw, type RouteSpec } from '../api/route.ts'
import type { Mode } from './auth.ts'

type Json = Record<string, unknown>

const ValidationError = z
  .object({
    loc: z.array(z.union([z.string(), z.int()])),
    msg: z.string(),
    type: z.string(),
    input: z.unknown().optional(),
  })
  .meta({ id: 'ValidationError', title: 'ValidationError' })
/** Some routes say the same under the names that their older clients look for, too: hence the loose objects. */
const about = { code: z.string().optional(), retryable: z.boolean().optional() }
/** A list where the request does not fit its declaration; else why what it asks for cannot be. */
const HTTPValidationError = z
  .looseObject({
    detail: z.union([z.array(ValidationError), z.string(), z.looseObject({ message: z.string() })]).optional(),
    ...about,
  })
  .meta({ id: 'HTTPValidationError', title: 'HTTPValidationError' })
const ErrorBody = z.looseObject({ detail: z.string(), ...about, error_id: z.string().optional() }).meta({ id: 'Error' })

/** The key, in any form that a request can bring it. */
const SCHEMES = {
  APIKeyHeader: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' },
  HTTPBearer: { type: 'http', scheme: 'bearer' },
}
const KEY = Object.keys(SCHEMES).map(name => ({ [name]: [] }))

/**
 * The OpenAPI document of a route table, with the security that a server in this mode really demands: in local mode a
 * `caller` route asks for nothing.
 */
export function openapi(routes: Record<string, RouteSpec>, mode: Mode, version: string): Json {
  const schemas = new Schemas()
  const paths: Record<string, Json> = {}
  for (const [operationId, spec] of Object.entries(routes)) {
    paths[spec.path] ??= {}
    paths[spec.path]![spec.method.toLowerCase()] = operation(operationId, spec, mode, schemas)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Gantry', version, description: 'Runs AI coding agents in sandboxes.' },
    paths,
    components: { schemas: schemas.components, securitySchemes: SCHEMES },
    security: [],
  }
}

function operation(operationId: string, spec: RouteSpec, mode: Mode, schemas: Schemas): Json {
  const keyed = spec.access === 'key' || (spec.access !== 'free' && mode === 'key')
  return {
    operationId,
    tags: [spec.tag],
    summary: spec.summary,
    ...parameters(spec, schemas),
    ...(spec.body && {
      requestBody: {
        required: !spec.bodyOptional,
        content: { 'application/json': { schema: schemas.of(spec.body, 'input') } },
      },
    }),
    ...(spec.upload && {
      requestBody: { required: true, content: { 'multipart/form-data': { schema: formWith(spec.upload) } } },
    }),
    ...(spec.file && { requestBody: { required: true, content: { [spec.file]: {} } } }),
    responses: responses(spec, keyed, schemas),
    ...(keyed ? { security: KEY } : spec.access === 'expose' ? { security: [{}, ...KEY] } : {}),
  }
}

const formWith = (field: string): Json => ({
  type: 'object',
  required: [field],
  properties: { [field]: { type: 'string', format: 'binary' } },
})

function parameters(spec: RouteSpec, schemas: Schemas): Json {
  const places = [
    ['path', spec.params],
    ['query', spec.query],
    ['header', spec.headers],
  ] as const
  const list = places.flatMap(([place, object]) =>
    Object.entries(object?.shape ?? {}).map(([name, field]) => ({
      name: place === 'header' ? name.replace(/(^|-)\w/g, part => part.toUpperCase()) : name,
      in: place,
      required: place === 'path' || !z.safeParse(field, undefined).success,
      schema: schemas.of(field as z.ZodType, 'input'),
    })),
  )
  return list.length > 0 ? { parameters: list } : {}
}

function responses(spec: RouteSpec, keyed: boolean, schemas: Schemas): Json {
  const result: Json = {}
  for (const [status, response] of Object.entries(spec.responses)) result[status] = success(response, schemas)
  const codes = new Set<ErrorCode>([...(spec.errors ?? []), ...(keyed ? (['unauthorized'] as const) : [])])
  for (const code of codes)
    result[statusOf(code)] ??= {
      description: code.replaceAll('_', ' '),
      content: { 'application/json': { schema: schemas.of(ErrorBody, 'output') } },
    }
  if (spec.params || spec.query || spec.headers || spec.body || spec.upload) {
    const own = spec.responses[422]
    const schema = own && !isRaw(own) ? z.union([own, HTTPValidationError]) : HTTPValidationError
    result[422] = {
      description: 'Validation Error',
      content: { 'application/json': { schema: schemas.of(schema, 'output') } },
    }
  }
  return result
}

function success(response: z.ZodType | Raw | null, schemas: Schemas): Json {
  const description = 'Successful Response'
  if (response === null) return { description }
  if (isRaw(response)) return { description, content: { [response.raw]: {} } }
  return { description, content: { 'application/json': { schema: schemas.of(response, 'output') } } }
}

/** Schemas with a name become components; where what is sent and what is answered differ, the latter is `…Output`. */
class Schemas {
  readonly components: Record<string, unknown> = {}
  readonly #inputs = new Map<string, string>()

  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema, $defs = {}, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy })
    const own = z.globalRegistry.get(schema)?.id
    const definitions: Json = own && !(own in $defs) ? { ...$defs, [own]: json } : $defs
    const names = new Map(Object.keys(definitions).map(name => [name, this.#nameFor(name, definitions[name], io)]))
    for (const [name, definition] of Object.entries(definitions))
      this.components[names.get(name)!] ??= rename(definition, names, own)
    return own ? { $ref: `#/components/schemas/${names.get(own)}` } : (rename(json, names, own) as Json)
  }

  #nameFor(name: string, definition: unknown, io: 'input' | 'output'): string {
    const text = JSON.stringify(definition)
    if (io === 'input') this.#inputs.set(name, text)
    const input = this.#inputs.get(name)
    return io === 'output' && input !== undefined && input !== text ? `${name}Output` : name
  }
}

/** Points references at the components. */
function rename(value: unknown, names: Map<string, string>, own: string | undefined): unknown {
  if (Array.isArray(value)) return value.map(item => rename(item, names, own))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (key === 'id' && typeof item === 'string' && names.has(item)) return []
      if (key !== '$ref' || typeof item !== 'string') return [[key, rename(item, names, own)]]
      const target = item === '#' ? own : item.replace('#/$defs/', '')
      return [[key, `#/components/schemas/${names.get(target ?? '') ?? target}`]]
    }),
  )
}

/** JavaScript's own bounds of an integer are no part of the interface; nor is it a promise never to answer more. */
function tidy({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  const { def } = zodSchema._zod
  if (def.type === 'object' && !def.catchall) delete jsonSchema.additionalProperties
  const { properties = {}, required } = jsonSchema
  if (!required) return
  // What has a default may be left out, in answers too: so says the interface specification of Success.
  jsonSchema.required = required.filter(name => !Object.hasOwn(Object(properties[name]), 'default'))
  if (jsonSchema.required.length === 0) delete jsonSchema.required
}
