import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { basename, extname, join } from 'node:path'
import { fault } from '../api/errors.ts'
import { Plain } from './reply.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Our page loads nothing from elsewhere, runs no inline script, and is framed by nobody. */
const CONTENT_POLICY =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

/** A name that changes with its content: whoever has it never needs to ask again. */
const HASHED = /-[\w-]{8}\.js$/

/** The built page. Beside each of its texts lies the same, compressed. */
export class WebFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async file(
    name: string,
    { 'accept-encoding': accepted = '', 'if-none-match': known }: IncomingHttpHeaders,
  ): Promise<Plain> {
    const type = TYPES[extname(name)]
    if (!type || basename(name) !== name) throw fault('not_found')
    const packed = /\bgzip\b/.test(String(accepted)) ? await this.#read(`${name}.gz`) : undefined
    const content = packed ?? (await this.#read(name))
    if (!content) throw fault('not_found')
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    const headers = {
      'Content-Security-Policy': CONTENT_POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ETag: etag,
    }
    if (known === etag) return new Plain(type, '', headers, 304)
    return new Plain(type, content, { ...headers, ...(packed && { 'Content-Encoding': 'gzip' }) })
  }

  #read(name: string): Promise<Uint8Array | undefined> {
    return readFile(join(this.#folder, name)).catch(() => undefined)
  }
}
