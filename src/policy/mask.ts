/** What stands where a secret stood. */
export const HIDDEN = '<secret-hidden>'

/**
 * Shorter secrets are hidden only where they stand alone, as a word: inside others they would be found by chance. They are not
 * looked for encoded.
 */
const SHORT = 6
/** Characters by which the place of a secret is guessed before it is compared. */
const KEY = 4
const BUCKETS = 1 << 16

/**
 * Hides secrets in text: as they are, and in base64 (wherever in what was encoded they begin), hex and URL form, also when line
 * breaks were put into them. A courtesy: whoever has a secret can write it in ways that nobody recognises.
 */
export class Masker {
  /** By their first characters, the longest first. None has a line break in it. */
  readonly #forms = new Map<string, string[]>()
  readonly #first = new Uint8Array(BUCKETS)
  readonly #short: RegExp | undefined

  constructor(values: Iterable<string>) {
    const secrets = [...new Set([...values].map(value => value.trim()))].filter(value => value !== '')
    const forms = new Set(secrets.filter(value => value.length >= SHORT).flatMap(formsOf))
    for (const form of [...forms].sort((one, other) => other.length - one.length)) {
      const key = form.slice(0, KEY)
      this.#forms.set(key, [...(this.#forms.get(key) ?? []), form])
      this.#first[bucket(form, 0)] = 1
    }
    // What is hidden already is passed over, for it may hold a secret's word.
    this.#first[bucket(HIDDEN, 0)] = 1
    const short = secrets.filter(value => value.length < SHORT).map(value => RegExp.escape(value))
    if (short.length > 0)
      this.#short = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${short.join('|')})(?![\\p{L}\\p{N}_])`, 'gu')
  }

  mask(text: string): string {
    let masked = ''
    let kept = 0
    for (let at = 0; at <= text.length - KEY; at++) {
      if (this.#first[bucket(text, at)] === 0) continue
      if (text.startsWith(HIDDEN, at)) {
        at += HIDDEN.length - 1
        continue
      }
      const end = this.#endAt(text, at)
      if (end === undefined) continue
      // One that overlaps the last is hidden with it.
      if (at >= kept) masked += text.slice(kept, at) + HIDDEN
      kept = Math.max(kept, end)
    }
    masked += text.slice(kept)
    return this.#short ? hideShort(masked, this.#short) : masked
  }

  /** Every text in a value, but for what says what the value is. */
  maskDeep<T>(value: T): T {
    if (typeof value === 'string') return this.mask(value) as T
    if (Array.isArray(value)) return value.map(item => this.maskDeep(item)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, isStructure(key, inner) ? inner : this.maskDeep(inner)]),
    ) as T
  }

  #endAt(text: string, at: number): number | undefined {
    for (const form of this.#forms.get(text.slice(at, at + KEY)) ?? []) {
      const end = endOf(form, text, at)
      if (end !== undefined) return end
    }
    return undefined
  }
}

const STRUCTURE = new Set(['kind', 'type', 'status'])
const COMMANDS = new Set<unknown>(['view', 'plan', 'create', 'str_replace', 'insert', 'undo_edit'])

/** Readers go by these: hidden, they would make the whole unreadable. */
const isStructure = (key: string, value: unknown): boolean =>
  STRUCTURE.has(key) || (key === 'command' && COMMANDS.has(value))

function bucket(text: string, at: number): number {
  let hash = 0
  for (let index = at; index < at + KEY; index++) hash = Math.imul(hash, 31) + text.charCodeAt(index)
  return hash & (BUCKETS - 1)
}

/** Where the form ends that begins here, line breaks within it passed over. */
function endOf(form: string, text: string, start: number): number | undefined {
  let at = start
  for (let index = 0; index < form.length; index++, at++) {
    if (index > 0 && text[at] === '\r') at += 1
    if (index > 0 && text[at] === '\n') at += 1
    if (text[at] !== form[index]) return undefined
  }
  return at
}

/** Of a secret of several lines each may be shown alone. Shorter ones say little, and are found by chance. */
const TELLING_LINE = 16

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const lines = value.split(/[\r\n]+/).filter(line => line.length >= TELLING_LINE && !line.startsWith('-----'))
  const hex = bytes.toString('hex')
  const url = encodeURIComponent(value.toWellFormed())
  const strict = url.replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
  const urls = [url, strict, url.replaceAll('%20', '+'), hex.toUpperCase().replace(/../g, '%$&')]
  const small = (text: string) => text.replace(/%../g, byte => byte.toLowerCase())
  const json = JSON.stringify(value).slice(1, -1)
  const all = [value, ...lines, json, ...base64(bytes), hex, hex.toUpperCase(), ...urls, ...urls.map(small)]
  return all.map(form => form.replace(/[\r\n]/g, '')).filter(form => form.length >= SHORT)
}

/** Encoded after 0, 1 or 2 other bytes: what does not depend on its neighbours, and where it has none, all. */
function base64(bytes: Buffer): string[] {
  const cores = [0, 2, 3].map((from, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return encoded.slice(from, Math.floor(((before + bytes.length) * 8) / 6))
  })
  const whole = bytes.toString('base64')
  const standard = [whole, whole.replace(/=+$/, ''), ...cores]
  return [...standard, ...standard.map(text => text.replaceAll('+', '-').replaceAll('/', '_'))]
}

const hideShort = (text: string, short: RegExp): string =>
  text
    .split(HIDDEN)
    .map(part => part.replace(short, HIDDEN))
    .join(HIDDEN)
