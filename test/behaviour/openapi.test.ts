import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RouteSpec } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { MODES, type Mode, startIn } from '../support/access.ts'
import { exchange } from '../support/exchange.ts'
import type { TestServer } from '../support/server.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into, part by part
type Json = any

const servers = {} as Record<Mode, TestServer>
const documents = {} as Record<Mode, Json>
before(async () => {
  ;[servers.local, servers.key] = await Promise.all([startIn('local'), startIn('key')])
  for (const mode of MODES) {
    const { text, headers } = await exchange(servers[mode].url, { path: '/openapi.json' })
    assert.match(headers['content-type'] ?? '', /^application\/json/)
    documents[mode] = JSON.parse(text)
  }
})
after(() => Promise.all(Object.values(servers).map(server => server[Symbol.asyncDispose]())))

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const table = Object.entries<RouteSpec>(routes)

/** Every operation with where it stands. */
const operations = (document: Json): { path: string; method: string; operation: Json }[] =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method, operation })),
  )
const operationAt = (mode: Mode, { path, method }: RouteSpec) => documents[mode].paths[path][method.toLowerCase()]

/** Every object in a document, with its path. */
function* objects(value: Json, at = '#'): Generator<[at: string, object: Json]> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield [at, value]
  for (const [key, item] of Object.entries(value))
    yield* objects(item, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

const resolve = (document: Json, reference: string): Json =>
  reference
    .slice(2)
    .split('/')
    .reduce((value, part) => value?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')], document)

const needsKey = (operation: Json): boolean =>
  Boolean(operation.security?.length) && !operation.security.some((one: Json) => Object.keys(one).length === 0)

describe('the OpenAPI document', () => {
  test('says what it is', () => {
    for (const mode of MODES) {
      const { openapi, info, security } = documents[mode]
      assert.match(openapi, /^3\.1\.\d+$/)
      assert.equal(info.version, '0.1.0')
      assert.ok(info.title)
      assert.deepEqual(security, [])
    }
  })

  test('has every route of the table, and no other', () => {
    const declared = table.map(([, { method, path }]) => `${method} ${path}`).sort()
    for (const mode of MODES)
      assert.deepEqual(
        operations(documents[mode])
          .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
          .sort(),
        declared,
      )
  })

  test('declares the key in local mode where it is always needed, and nowhere else', () => {
    for (const [name, spec] of table) assert.equal(needsKey(operationAt('local', spec)), spec.access === 'key', name)
    for (const route of [
      routes.storeSettings,
      routes.listSecrets,
      routes.putSecret,
      routes.getSecretValue,
      routes.deleteSecret,
    ])
      assert.ok(needsKey(operationAt('local', route)), route.path)
  })

  test('declares the key in key mode for everything but what is free', () => {
    for (const [name, spec] of table) assert.equal(needsKey(operationAt('key', spec)), spec.access !== 'free', name)
  })

  test('names the header, and the bearer, as security schemes', () => {
    const { components } = documents.local
    const [key] = Object.entries<Json>(components.securitySchemes).find(([, scheme]) => scheme.type === 'apiKey')!
    assert.deepEqual(components.securitySchemes[key], { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' })
    assert.ok(operationAt('local', routes.storeSettings).security.some((one: Json) => key in one))
    for (const mode of MODES)
      for (const { path, operation } of operations(documents[mode]))
        for (const one of operation.security ?? [])
          for (const scheme of Object.keys(one)) assert.ok(scheme in components.securitySchemes, `${path}: ${scheme}`)
  })

  test('declares the confirmation response as the interface specification does', () => {
    const operation = operationAt('local', routes.respondToConfirmation)
    assert.equal(
      routes.respondToConfirmation.path,
      '/api/conversations/{conversation_id}/events/respond_to_confirmation',
    )
    assert.equal(operation.security, undefined)
    assert.deepEqual(operation.tags, ['Events'])
    assert.equal(operation.requestBody.required, true)
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    assert.deepEqual(operation.requestBody.content['application/json'].schema, ref('ConfirmationResponseRequest'))
    assert.deepEqual(operation.responses['200'].content['application/json'].schema, ref('Success'))
    assert.deepEqual(operation.responses['422'].content['application/json'].schema, ref('HTTPValidationError'))
    assert.ok(operation.responses['404'])
    const [parameter] = operation.parameters
    assert.equal(`${parameter.in} ${parameter.name} ${parameter.required}`, 'path conversation_id true')
    assert.equal(parameter.schema.type, 'string')
    assert.equal(parameter.schema.format, 'uuid')
  })

  test('has the named schemas of the interface specification', () => {
    const { schemas } = documents.local.components
    const { accept, reason } = schemas.ConfirmationResponseRequest.properties
    assert.equal(accept.type, 'boolean')
    assert.equal(reason.default, 'User rejected the action.')
    assert.deepEqual(schemas.ConfirmationResponseRequest.required, ['accept'])
    assert.equal(schemas.Success.properties.success.default, true)
    assert.equal(schemas.Success.required?.length ?? 0, 0)
    assert.deepEqual(schemas.ValidationError.required.toSorted(), ['loc', 'msg', 'type'])
    assert.equal(schemas.HTTPValidationError.required?.length ?? 0, 0)
    assert.deepEqual(Object.keys(schemas.UserSecrets.properties).sort(), ['custom_secrets', 'provider_tokens'])
    assert.deepEqual(Object.keys(schemas.MCPConfig.properties).sort(), [
      'shttp_servers',
      'sse_servers',
      'stdio_servers',
    ])
    const settings = schemas.Settings.properties
    assert.equal(Object.keys(settings).length, 25)
    assert.equal(schemas.Settings.required?.length ?? 0, 0)
    for (const name of ['llm_api_key', 'search_api_key', 'sandbox_api_key'])
      assert.ok(
        [settings[name], ...(settings[name].anyOf ?? [])].some(
          ({ type, format }) => type === 'string' && format === 'password',
        ),
        name,
      )
    assert.equal(settings.enable_default_condenser.default, true)
    assert.equal(settings.enable_sound_notifications.default, false)
  })
})

describe('the OpenAPI document is well formed', () => {
  for (const mode of MODES)
    test(`${mode} mode`, () => {
      const document = documents[mode]
      for (const [at, object] of objects(document)) {
        if (typeof object.$ref !== 'string') continue
        assert.match(object.$ref, /^#\/components\//, at)
        assert.ok(resolve(document, object.$ref), `${at}: ${object.$ref} leads nowhere`)
      }
      const ids = operations(document).map(({ operation }) => operation.operationId)
      assert.equal(new Set(ids).size, ids.length)
      for (const { path, method, operation } of operations(document)) wellFormed(path, method, operation)
      for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
        assert.match(name, /^[\w.-]+$/)
        wellFormedSchema(schema, name)
      }
    })

  function wellFormed(path: string, method: string, operation: Json): void {
    const where = `${method} ${path}`
    assert.match(path, /^\//)
    assert.ok(METHODS.includes(method), where)
    for (const needed of ['operationId', 'summary']) assert.ok(operation[needed], `${where}: ${needed}`)
    assert.ok(operation.tags?.length > 0, where)

    const parameters: Json[] = operation.parameters ?? []
    assert.equal(new Set(parameters.map(one => `${one.in} ${one.name}`)).size, parameters.length, where)
    const inPath = parameters.filter(one => one.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name).sort(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      where,
    )
    for (const one of parameters) {
      assert.ok(['path', 'query', 'header', 'cookie'].includes(one.in), where)
      assert.ok(one.in !== 'path' || one.required === true, where)
      wellFormedSchema(one.schema, `${where} ${one.name}`)
    }
    if (operation.requestBody) wellFormedContent(operation.requestBody.content, where)
    const statuses = Object.keys(operation.responses)
    assert.ok(
      statuses.some(status => /^2\d\d$/.test(status)),
      where,
    )
    for (const [status, response] of Object.entries<Json>(operation.responses)) {
      assert.match(status, /^(default|[1-5]\d\d)$/, where)
      assert.equal(typeof response.description, 'string', `${where} ${status}`)
      if (response.content) wellFormedContent(response.content, `${where} ${status}`)
      assert.ok(status !== '204' || !response.content, `${where}: 204 has no body`)
    }
  }

  function wellFormedContent(content: Json, where: string): void {
    assert.ok(Object.keys(content).length > 0, where)
    for (const [type, { schema }] of Object.entries<Json>(content)) {
      assert.match(type, /^[\w*]+\/[\w.+*-]+/, where)
      if (schema) wellFormedSchema(schema, where)
    }
  }

  /** JSON Schema 2020-12, as far as mistakes go: keywords of another dialect, `required` without a property. */
  function wellFormedSchema(schema: Json, where: string): void {
    const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
    if (typeof schema === 'boolean') return
    assert.equal(typeof schema, 'object', where)
    for (const alien of ['nullable', 'definitions', '$defs', '$schema', 'id', 'discriminatorMapping'])
      assert.ok(!(alien in schema), `${where}: ${alien}`)
    for (const type of [schema.type ?? []].flat()) assert.ok(TYPES.includes(type), `${where}: ${type}`)
    const properties = Object.entries<Json>(schema.properties ?? {})
    for (const name of schema.required ?? []) assert.ok(name in (schema.properties ?? {}), `${where}: ${name}`)
    for (const [name, property] of properties) wellFormedSchema(property, `${where}.${name}`)
    for (const list of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
      if (list in schema) {
        assert.ok(schema[list].length > 0, `${where}: ${list}`)
        for (const one of schema[list]) wellFormedSchema(one, where)
      }
    for (const one of ['items', 'additionalProperties', 'propertyNames', 'not'])
      if (one in schema) wellFormedSchema(schema[one], `${where} ${one}`)
    if ('enum' in schema) assert.ok(schema.enum.length > 0, where)
    if ('pattern' in schema) assert.doesNotThrow(() => new RegExp(schema.pattern, 'u'), where)
  }
})
