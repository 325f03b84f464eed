/** The parts of an OpenAPI 3.1 document that the page reads. */
export interface OpenApi {
  info?: { title?: string; version?: string }
  paths: Record<string, Record<string, Operation | undefined>>
  tags?: { name: string; description?: string }[]
  security?: Security[]
  components?: { schemas?: Record<string, Schema> }
}

type Security = Record<string, string[]>
type Contents = Record<string, { schema?: Schema }>

export interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  deprecated?: boolean
  security?: Security[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; description?: string; content?: Contents }
  responses?: Record<string, { description?: string; content?: Contents }>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header' | 'cookie'
  required?: boolean
  description?: string
  schema?: Schema
}

export interface Schema {
  $ref?: string
  type?: string | string[]
  title?: string
  description?: string
  format?: string
  const?: unknown
  enum?: unknown[]
  default?: unknown
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  prefixItems?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/** An operation with its address. */
export interface Endpoint extends Operation {
  id: string
  method: string
  path: string
  tag: string
}

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options']

export function endpointsOf(document: OpenApi): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap(method => {
      const operation = item[method]
      if (!operation) return []
      const id = operation.operationId ?? `${method}${path}`
      return [{ security: document.security, ...operation, id, method, path, tag: operation.tags?.[0] ?? 'Other' }]
    }),
  )
}

/** In the document's own order of tags, then as they come. */
export function byTag(document: OpenApi): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>((document.tags ?? []).map(({ name }) => [name, []]))
  for (const endpoint of endpointsOf(document)) {
    const group = groups.get(endpoint.tag)
    if (group) group.push(endpoint)
    else groups.set(endpoint.tag, [endpoint])
  }
  return new Map([...groups].filter(([, group]) => group.length > 0))
}
