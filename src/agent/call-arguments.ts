import { SecurityRisk } from '../api/security.ts'
import { readValue } from './json-repair.ts'
import type { Tool } from './tool.ts'

type Properties = Readonly<Record<string, unknown>>

export const propertiesOf = (tool: Tool | undefined): Properties => (tool?.parameters.properties ?? {}) as Properties

const RISK = /^se?cu?ri?t?y?[\W_]*risk?s?$/i

/** What every tool is asked to be called with beside its own arguments. */
export function separated(given: Record<string, unknown>, own: Properties) {
  const isOurs = (key: string) => !Object.hasOwn(own, key) && (key === 'summary' || RISK.test(key))
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !isOurs(key)))
  const said = Object.entries(given).find(([key]) => isOurs(key) && key !== 'summary')?.[1]
  const risk = SecurityRisk.safeParse(typeof said === 'string' ? said.trim().toUpperCase() : said)
  const summary = isOurs('summary') && typeof given.summary === 'string' ? given.summary.trim() : ''
  return { summary: summary || null, claimed: risk.success ? risk.data : ('UNKNOWN' as const), rest }
}

/** Numbers, flags and lists that were written as text, where the tool takes no text there. */
export function fitting(args: Record<string, unknown>, own: Properties): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const types = typeof value === 'string' && Object.hasOwn(own, key) ? typesOf(own[key]) : []
      return [key, types.length > 0 && !types.includes('string') ? fromText(value as string, types) : value]
    }),
  )
}

/** Empty when they cannot be told. */
function typesOf(schema: unknown): string[] {
  const { type, anyOf, oneOf } = (schema ?? {}) as { type?: unknown; anyOf?: unknown; oneOf?: unknown }
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String)
  const options = anyOf ?? oneOf
  const types = Array.isArray(options) ? options.map(typesOf) : []
  return types.some(one => one.length === 0) ? [] : types.flat()
}

function fromText(text: string, types: readonly string[]): unknown {
  try {
    const value = readValue(text)
    const type = Array.isArray(value) ? 'array' : typeof value
    const fits = types.includes(type) || (type === 'number' && types.includes('integer'))
    return fits && value !== null ? value : text
  } catch {
    return text
  }
}
