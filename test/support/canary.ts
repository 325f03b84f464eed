import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Secrets that can be recognised wherever they turn up, in any usual disguise. */
export class Canaries {
  readonly #made = new Map<string, string>()

  /** A fresh secret for a door. */
  make(door: string): string {
    const value = `canary-${crypto.randomUUID()}`
    this.#made.set(value, door)
    return value
  }

  get size(): number {
    return this.#made.size
  }

  /** The doors whose secrets can be read in this text, and in which disguise. */
  sightings(text: string | Buffer): string[] {
    const hay = Buffer.from(text)
    return [...this.#made].flatMap(([value, door]) =>
      disguises(value).flatMap(([name, needle]) => (hay.includes(needle) ? [`${door} (${name})`] : [])),
    )
  }

  async sightingsIn(folder: string): Promise<string[]> {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
    const found = await Promise.all(
      files.map(async file => this.sightings(await readFile(file)).map(sighting => `${file}: ${sighting}`)),
    )
    return found.flat()
  }
}

function disguises(value: string): [string, string][] {
  const bytes = Buffer.from(value)
  // Base64 depends on where in a text the secret begins; the ends then vary, the middle does not.
  const shifted = [0, 1, 2].map(n =>
    Buffer.concat([Buffer.alloc(n), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  return [
    ['verbatim', value],
    ['hex', bytes.toString('hex')],
    ['URL', encodeURIComponent(value).replaceAll('-', '%2D')],
    ['UTF-16', bytes.toString('latin1').split('').join('\0')],
    ...shifted.flatMap((text): [string, string][] => [
      ['base64', text],
      ['base64url', text.replaceAll('+', '-').replaceAll('/', '_')],
    ]),
  ]
}
