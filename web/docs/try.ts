import { button, type Content, field, folded, form, h } from './dom.ts'
import type { Endpoint, Parameter, Schema } from './openapi.ts'
import type { Schemas } from './schema.ts'

/** What is shown of an answer, in characters; the rest is not read. */
const MOST_SHOWN = 256 * 1024

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

interface Body {
  controls: Content[]
  /** With the type it is sent as; none where the browser has to choose it. */
  read(): { body: BodyInit; type?: string } | undefined
}

/** A form that sends the request for real, from this page to this server. */
export function tryIt(endpoint: Endpoint, schemas: Schemas, sessionKey: () => string): HTMLElement {
  const parameters = (endpoint.parameters ?? []).filter(parameter => parameter.in !== 'cookie')
  const inputs = parameters.map(parameter => ({ parameter, control: controlFor(parameter, schemas) }))
  const body = bodyOf(endpoint, schemas)
  const answer = h('div', { className: 'answer', role: 'status' })
  let running: AbortController | undefined
  const stop = h('button', { type: 'button', hidden: true, onclick: () => running?.abort() }, 'Stop')

  async function send(): Promise<void> {
    const headers = new Headers()
    const { body: content, type } = body?.read() ?? {}
    if (type) headers.set('Content-Type', type)
    if (sessionKey()) headers.set('X-Session-API-Key', sessionKey())
    for (const { parameter, control } of inputs) {
      if (parameter.in === 'header' && control.value) headers.set(parameter.name, control.value)
    }
    running = new AbortController()
    stop.hidden = false
    const began = performance.now()
    try {
      const init = { method: endpoint.method.toUpperCase(), headers, body: content, signal: running.signal }
      const response = await fetch(addressOf(endpoint.path, inputs), init)
      await showAnswer(answer, response, performance.now() - began)
    } catch (error) {
      if (!running.signal.aborted) throw error
    } finally {
      stop.hidden = true
    }
  }

  return form(
    'stack try',
    send,
    ...inputs.map(({ parameter, control }) => field(`${parameter.name}, ${parameter.in}`, control)),
    ...(body?.controls ?? []),
    h('div', { className: 'row' }, button('Send', 'primary'), stop),
    answer,
  )
}

function controlFor({ name, required = false, schema = {} }: Parameter, schemas: Schemas): Control {
  const options = optionsOf(schemas.resolve(schema), schemas)
  if (options.length === 0) return h('input', { name, required, autocomplete: 'off', spellcheck: false })
  return h('select', { name, required }, ...['', ...options].map(value => h('option', { value }, value)))
}

function optionsOf(schema: Schema, schemas: Schemas): string[] {
  if (schema.enum) return schema.enum.map(String)
  if (schema.type === 'boolean') return ['true', 'false']
  const variants = (schema.anyOf ?? []).map(schemas.resolve).filter(variant => variant.type !== 'null')
  return variants.length === 1 ? optionsOf(variants[0]!, schemas) : []
}

function addressOf(path: string, inputs: { parameter: Parameter; control: Control }[]): string {
  const query = new URLSearchParams()
  let address = path
  for (const { parameter, control } of inputs) {
    // A path parameter may itself be a path: its slashes stay.
    const segments = control.value.split('/').map(encodeURIComponent).join('/')
    if (parameter.in === 'path') address = address.replace(`{${parameter.name}}`, () => segments)
    if (parameter.in !== 'query' || !control.value) continue
    const isList = parameter.schema?.type === 'array'
    for (const value of isList ? control.value.split(',') : [control.value]) query.append(parameter.name, value.trim())
  }
  return `${address.slice(1)}${query.size > 0 ? `?${query}` : ''}`
}

function bodyOf({ method, requestBody }: Endpoint, schemas: Schemas): Body | undefined {
  const [type, { schema = {} } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (!type || method === 'get' || method === 'head') return undefined
  if (type.startsWith('multipart/')) return multipart(schemas.resolve(schema))
  const text = h('textarea', { className: 'code', rows: 8, spellcheck: false })
  if (type.includes('json')) text.value = JSON.stringify(schemas.example(schema), null, 2)
  return {
    controls: [field(`Body, ${type}`, text)],
    read: () => (text.value.trim() ? { body: text.value, type } : undefined),
  }
}

function multipart({ properties = {}, required = [] }: Schema): Body {
  const inputs = Object.entries(properties).map(([name, schema]) => {
    const isFile = schema.format === 'binary' || 'contentMediaType' in schema
    return h('input', { name, type: isFile ? 'file' : 'text', required: required.includes(name) })
  })
  const read = () => {
    const body = new FormData()
    for (const input of inputs) {
      const file = input.files?.[0]
      if (file) body.append(input.name, file)
      else if (input.value) body.append(input.name, input.value)
    }
    return { body }
  }
  return { controls: inputs.map(input => field(`${input.name}, form field`, input)), read }
}

async function showAnswer(answer: HTMLElement, response: Response, ms: number): Promise<void> {
  const text = h('pre', { tabIndex: 0 })
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  const status = h('strong', {}, `${response.status} ${response.statusText}`)
  status.classList.toggle('bad', !response.ok)
  answer.replaceChildren(
    h('p', {}, status, h('span', { className: 'quiet' }, ` in ${Math.round(ms)} ms`)),
    folded('Headers', () => [h('pre', {}, headers)]),
    text,
  )
  const isJson = response.headers.get('Content-Type')?.includes('json') ?? false
  const shown = await read(response, so => {
    text.textContent = so
  })
  text.textContent = isJson ? pretty(shown) : shown || 'An empty body'
}

/** Reads as it comes: an event stream has no end. */
async function read(response: Response, onText: (so: string) => void): Promise<string> {
  let text = ''
  if (!response.body) return text
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += value
    if (text.length > MOST_SHOWN) {
      await reader.cancel()
      return `${text.slice(0, MOST_SHOWN)}\n… more than is shown here`
    }
    onText(text)
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
