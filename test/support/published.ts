import { BashEvent } from '../../src/api/bash.ts'
import { Event } from '../../src/api/events.ts'
import { type RouteSpec, route } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes/index.ts'
import { sockets } from '../../src/api/routes/sockets.ts'
import { TerminalFrame } from '../../src/api/terminal.ts'
import { openapi } from '../../src/http/openapi.ts'
import { Router } from '../../src/http/router.ts'
import { withoutSandbox } from '../../src/http/scope.ts'
import { compare, type Findings } from './json-schema.ts'

export interface Answered {
  method: string
  /** Without the query. */
  path: string
  status: number
  text: string
}

const socket = (path: string, frame: RouteSpec['responses'][200]) =>
  route({ method: 'GET', path, tag: '', summary: '', access: 'free', responses: { 200: frame } })

const table = new Router<RouteSpec>()
for (const spec of Object.values<RouteSpec>(routes)) table.add(spec.method, spec.path, spec, spec.rest)
const FRAMES = {
  events: socket('/sockets/events', Event),
  bash: socket('/sockets/bash-events', BashEvent),
  terminal: socket('/sockets/terminal', TerminalFrame),
}
const KINDS = Object.keys(FRAMES) as (keyof typeof FRAMES)[]
const NOWHERE = route({
  method: 'GET',
  path: '/(no route)',
  tag: '',
  summary: '',
  access: 'key',
  errors: ['unauthorized'],
  responses: { 204: null },
})

/** What the document of one route says. Made when it is first asked for: a test needs few of them. */
const documents = new Map<RouteSpec, ReturnType<typeof openapi>>()
function operationOf(spec: RouteSpec) {
  const document = documents.get(spec) ?? openapi({ it: spec }, 'key', '')
  documents.set(spec, document)
  // biome-ignore lint/suspicious/noExplicitAny: a document is looked into, part by part
  const operation = (document.paths as any)[spec.path][spec.method.toLowerCase()]
  return { document, operation }
}

/** Undefined, which fits no schema, where it is not JSON: what the parser would say of it quotes it. */
// biome-ignore lint/suspicious/noExplicitAny: it is what is being looked at
function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Who answered, and how the answer compares with what is published of it. */
export interface Verdict {
  route: string
  findings(): Findings
}

export function judge({ method, path, status, text }: Answered): Verdict {
  const match = table.match(method, withoutSandbox(path).path)
  const spec = 'value' in match ? match.value : NOWHERE
  return {
    route: `${method} ${spec.path} ${status}`,
    findings() {
      const own = operationOf(spec)
      if (!own.operation.responses[status] && status < 400)
        return { issues: ['the status is not declared'], undeclared: [] }
      // Any route may refuse with any error: those it does not name look like those it does.
      const { document, operation } = own.operation.responses[status] ? own : operationOf(NOWHERE)
      const { content } = operation.responses[status] ?? operation.responses[401]
      const schema = content?.['application/json']?.schema
      return schema ? compare(document, schema, parsed(text)) : { issues: [], undeclared: [] }
    },
  }
}

/** The same for a frame of one of our WebSockets; nothing for those of others. Who reads them rejects keys it does not know. */
export function judgeFrame(path: string, text: string): Verdict | undefined {
  const { path: own } = withoutSandbox(path)
  const name = KINDS.find(kind => sockets[kind].path.test(own))
  if (!name) return undefined
  const spec = FRAMES[name]
  const frame = parsed(text)
  return {
    route: `${spec.path} ${frame?.kind ?? frame?.type}`,
    findings() {
      const { document, operation } = operationOf(spec)
      const { issues, undeclared } = compare(
        document,
        operation.responses[200].content['application/json'].schema,
        frame,
      )
      return { issues: [...issues, ...undeclared.map(key => `${key} is not declared`)], undeclared: [] }
    },
  }
}
