import { type Content, folded, h } from './dom.ts'
import type { Endpoint, Operation, Parameter } from './openapi.ts'
import type { Schemas } from './schema.ts'
import { tryIt } from './try.ts'

/** One row of the list: method, path, summary; everything else is made when it is opened. */
export function operationView(endpoint: Endpoint, schemas: Schemas, sessionKey: () => string): HTMLDetailsElement {
  const method = h('span', { className: 'method' }, endpoint.method.toUpperCase())
  method.dataset.method = endpoint.method
  const heading = h(
    'span',
    { className: 'heading' },
    method,
    h('code', {}, endpoint.path),
    h('span', { className: 'quiet' }, endpoint.summary ?? ''),
  )
  const element = folded(heading, () => [body(endpoint, schemas, sessionKey)], 'operation')
  element.id = endpoint.id
  element.classList.toggle('deprecated', endpoint.deprecated ?? false)
  return element
}

function body(endpoint: Endpoint, schemas: Schemas, sessionKey: () => string): HTMLElement {
  const { description, deprecated, parameters = [], requestBody, responses = {} } = endpoint
  return h(
    'div',
    { className: 'details' },
    ...(deprecated ? [h('p', { className: 'problem' }, 'Deprecated.')] : []),
    ...(description ? [h('p', { className: 'prose' }, description)] : []),
    h('p', { className: 'quiet' }, securityOf(endpoint)),
    ...section('Parameters', parameters.length > 0 ? [parameterList(parameters, schemas)] : []),
    ...section(
      requestBody?.required === false ? 'Body, optional' : 'Body',
      contents(requestBody?.content, schemas),
      requestBody?.description,
    ),
    ...section(
      'Responses',
      Object.entries(responses).map(([status, response]) => responseView(status, response, schemas)),
    ),
    ...section('Try it', [tryIt(endpoint, schemas, sessionKey)]),
  )
}

const section = (title: string, content: Content[], note = ''): Content[] =>
  content.length > 0
    ? [h('section', {}, h('h3', {}, title), ...(note ? [h('p', { className: 'quiet' }, note)] : []), ...content)]
    : []

function securityOf({ security }: Operation): string {
  if (!security || security.length === 0) return 'Needs no key.'
  const ways = security.map(way => Object.keys(way).join(' and ')).filter(Boolean)
  return `${ways.length < security.length ? 'May be sent' : 'Must be sent'} with ${ways.join(' or ')}.`
}

function parameterList(parameters: Parameter[], schemas: Schemas): HTMLElement {
  const row = ({ name, in: place, required, description, schema = {} }: Parameter) =>
    h(
      'li',
      {},
      h('code', { className: 'name' }, name),
      ' ',
      h('code', { className: 'type' }, schemas.typeOf(schema)),
      h('span', { className: 'quiet' }, ` ${place}${required ? ', required' : ''}${defaultOf(schema.default)}`),
      ...(description ? [h('p', { className: 'quiet' }, description)] : []),
    )
  return h('ul', { className: 'schema' }, ...parameters.map(row))
}

const defaultOf = (value: unknown): string => (value === undefined ? '' : `, default ${JSON.stringify(value)}`)

function contents(content: NonNullable<Operation['requestBody']>['content'], schemas: Schemas): Content[] {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => [
    h('p', {}, h('code', {}, type), ' ', h('code', { className: 'type' }, schema ? schemas.typeOf(schema) : '')),
    ...(schema ? schemas.view(schema) : []),
  ])
}

function responseView(
  status: string,
  { description = '', content }: { description?: string; content?: Parameters<typeof contents>[0] },
  schemas: Schemas,
): HTMLElement {
  const heading = h('span', {}, h('code', {}, status), ' ', h('span', { className: 'quiet' }, description))
  return Object.keys(content ?? {}).length > 0
    ? folded(heading, () => contents(content, schemas), 'response')
    : h('p', { className: 'response' }, heading)
}
