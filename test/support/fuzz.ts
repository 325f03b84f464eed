import type { Random } from './random.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema is read as it comes
type Schema = any

const STRINGS = [
  '',
  ' ',
  'a',
  '\0',
  '\ud800',
  '**********',
  'x'.repeat(300),
  '😀',
  '__proto__',
  '../..',
  '$ref',
  '1',
  'true',
  'null',
  'gAAAAAforged',
  '%00',
  '2026-01-01T00:00:00Z',
  '-1',
]
const NUMBERS = [0, -1, 1, 1.5, 1e21, -0, 100, 101, Number.MAX_SAFE_INTEGER, 2 ** 53 + 2, 1e-9]

/** Values made from a JSON schema: mostly right, now and then wrong in ways that have broken servers before. */
export class Fuzz {
  readonly #random: Random
  readonly #components: Record<string, Schema>

  constructor(random: Random, components: Record<string, Schema>) {
    this.#random = random
    this.#components = components
  }

  value(schema: Schema, depth = 0): unknown {
    const random = this.#random
    if (random.next() < 0.04) return this.#anything(depth)
    if (schema === undefined || schema === true) return this.#anything(depth)
    if (schema.$ref) return this.value(this.#components[schema.$ref.split('/').at(-1)], depth)
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return random.pick(schema.enum)
    const options = schema.anyOf ?? schema.oneOf
    if (options) return depth > 6 ? null : this.value(random.pick(options), depth)
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part: Schema) => this.value(part, depth)))
    switch (Array.isArray(schema.type) ? random.pick(schema.type) : schema.type) {
      case 'string':
        return this.#string(schema)
      case 'integer':
        return random.next() < 0.7 ? random.int(100) + 1 : random.pick(NUMBERS)
      case 'number':
        return random.next() < 0.7 ? random.next() : random.pick(NUMBERS)
      case 'boolean':
        return random.next() < 0.5
      case 'null':
        return null
      case 'array':
        return Array.from({ length: depth > 5 ? 0 : random.int(3) }, () => this.value(schema.items, depth + 1))
      case 'object':
        return this.#object(schema, depth)
      default:
        return this.#anything(depth)
    }
  }

  #string(schema: Schema): string {
    if (schema.format === 'uuid' && this.#random.next() < 0.8) return crypto.randomUUID()
    return this.#random.next() < 0.5 ? `text${this.#random.int(1000)}` : this.#random.pick(STRINGS)
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const random = this.#random
    const object: Record<string, unknown> = {}
    for (const [name, field] of Object.entries<Schema>(schema.properties ?? {})) {
      const wanted = schema.required?.includes(name) ? 0.97 : depth > 3 ? 0.1 : 0.4
      if (random.next() < wanted) object[name] = this.value(field, depth + 1)
    }
    if (schema.additionalProperties && depth < 5)
      for (let n = random.int(3); n > 0; n--)
        object[random.pick([...STRINGS, 'key', 'name'])] = this.value(schema.additionalProperties, depth + 1)
    if (random.next() < 0.05) object[random.pick(STRINGS)] = this.#anything(depth)
    return object
  }

  #anything(depth: number): unknown {
    const random = this.#random
    switch (random.int(depth > 4 ? 5 : 7)) {
      case 0:
        return null
      case 1:
        return random.pick(STRINGS)
      case 2:
        return random.pick(NUMBERS)
      case 3:
        return random.next() < 0.5
      case 4:
        return 'x'.repeat(random.int(5000))
      case 5:
        return Array.from({ length: random.int(4) }, () => this.#anything(depth + 1))
      default:
        return { [random.pick(STRINGS)]: this.#anything(depth + 1), kind: random.pick(STRINGS) }
    }
  }
}
