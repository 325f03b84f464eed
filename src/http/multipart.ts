import type { IncomingMessage } from 'node:http'
import { fault } from '../api/errors.ts'
import { FORM_BYTES } from './limits.ts'
import { Invalid } from './validation.ts'

/**
 * The content of the one file field of a multipart form (RFC 7578), as it arrives: no more than a chunk of it is ever held. It
 * ends without an error only when the whole form was well formed, to its last boundary, and the field was in it once.
 */
export async function* fileOf(incoming: IncomingMessage, field: string, limit: number): AsyncGenerator<Buffer> {
  const boundary = boundaryOf(incoming.headers['content-type'])
  if (boundary === undefined) throw missing(field)
  if (Number(incoming.headers['content-length'] ?? 0) > limit + FORM_BYTES) throw fault('body_too_large', limit)
  const form = new Form(boundary)
  let size = 0
  let parts = 0
  for await (const chunk of chunksOf(incoming))
    for (const event of form.take(chunk)) {
      if ('headers' in event) {
        if (nameOf(event.headers) === field) parts += 1
        if (parts > 1) throw fault('invalid_request', `The field ${field} came more than once`)
        form.wanted = nameOf(event.headers) === field
      } else if (form.wanted) {
        size += event.content.length
        if (size > limit) throw fault('body_too_large', limit)
        yield event.content
      } else form.spend(event.content.length)
    }
  if (!form.ended) throw malformed('it has no end')
  if (parts === 0) throw missing(field)
}

async function* chunksOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  const chunks = (incoming as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await chunks.next().catch(() => {
      throw fault('bad_request', 'The request ended in the middle of its body')
    })
    if (done) return
    yield value
  }
}

const malformed = (why: string) => fault('bad_request', `This is not a multipart form: ${why}`)

const missing = (field: string) =>
  new Invalid([{ type: 'missing', loc: ['body', field], msg: 'Field required', input: null }])

/** Undefined for another kind of body. */
function boundaryOf(type = ''): string | undefined {
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) return undefined
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? []
  const boundary = quoted ?? plain
  if (!boundary || boundary.length > 70) throw malformed('it needs a boundary of 1 to 70 characters')
  return boundary
}

function nameOf(headers: string): string | undefined {
  const [, disposition] = /^content-disposition:[ \t]*form-data[ \t]*;(.*)$/im.exec(headers) ?? []
  // One parameter after the other, for a quoted file name may look like one.
  for (const [, name, quoted, plain] of (disposition ?? '').matchAll(PARAMETER))
    if (name!.toLowerCase() === 'name') return quoted ?? plain
  return undefined
}

const PARAMETER = /[ \t]*([^\s=;]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g

type Part = { headers: string } | { content: Buffer }

const BREAK = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')

/** Cuts a form into parts. It holds back only what may be the beginning of a boundary. */
class Form {
  wanted = false
  ended = false
  readonly #delimiter: Buffer
  /** Unread; begins with a line break that the first boundary does not need to have. */
  #rest: Buffer = BREAK
  #at: 'preamble' | 'boundary' | 'headers' | 'content' | 'end' = 'preamble'
  #spent = 0

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Everything but the file has to fit into what a form may hold. */
  spend(bytes: number): void {
    this.#spent += bytes
    if (this.#spent > FORM_BYTES) throw fault('body_too_large', FORM_BYTES)
  }

  *take(chunk: Buffer): Generator<Part> {
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    for (;;)
      switch (this.#at) {
        case 'preamble':
        case 'content': {
          const found = this.#rest.indexOf(this.#delimiter)
          const end = found >= 0 ? found : Math.max(0, this.#rest.length - this.#delimiter.length + 1)
          const content = this.#rest.subarray(0, end)
          if (this.#at === 'preamble') this.spend(end)
          else if (end > 0) yield { content }
          this.#rest = this.#rest.subarray(found >= 0 ? found + this.#delimiter.length : end)
          if (found < 0) return
          this.#at = 'boundary'
          break
        }
        case 'boundary': {
          const line = this.#rest.indexOf(BREAK)
          if (line < 0 && !this.#rest.subarray(0, 2).equals(Buffer.from('--'))) {
            if (this.#rest.length > FORM_BYTES) throw malformed('a boundary has no end')
            return
          }
          const tail = this.#rest.subarray(0, line < 0 ? 2 : line).toString('latin1')
          this.spend(tail.length + 2)
          if (tail.startsWith('--')) this.#at = 'end'
          else if (/^[ \t]*$/.test(tail)) {
            // The line break stays: headers may be none, and then their end begins with it.
            this.#rest = this.#rest.subarray(line)
            this.#at = 'headers'
          } else throw malformed('something follows a boundary')
          break
        }
        case 'headers': {
          const end = this.#rest.indexOf(HEADERS_END)
          if (end < 0) {
            if (this.#rest.length > FORM_BYTES) throw fault('body_too_large', FORM_BYTES)
            return
          }
          this.spend(end)
          yield { headers: this.#rest.subarray(0, end).toString('utf8') }
          this.#rest = this.#rest.subarray(end + HEADERS_END.length)
          this.#at = 'content'
          break
        }
        case 'end':
          this.ended = true
          this.spend(this.#rest.length)
          this.#rest = Buffer.alloc(0)
          return
      }
  }
}
