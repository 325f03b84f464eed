import { readFile } from 'node:fs/promises'
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

/** The built page. */
export class WebFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async file(name: string): Promise<Plain> {
    const type = TYPES[extname(name)]
    if (!type || basename(name) !== name) throw fault('not_found')
    const content = await readFile(join(this.#folder, name)).catch(() => undefined)
    if (!content) throw fault('not_found')
    return new Plain(type, content, {
      'Content-Security-Policy': CONTENT_POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    })
  }
}
