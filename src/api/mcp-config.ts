import * as z from 'zod'
import { secret } from './secret.ts'

/**
 * MCP servers as the flat settings write them: three lists. The other generation keeps a map of `MCPServer`;
 * settings/mcp-lists.ts turns one into the other.
 */
const valueError = (message: string) => ({ code: 'custom' as const, message, params: { type: 'value_error' } })

const checked = (fault: (text: string) => string | undefined) =>
  z
    .string()
    .trim()
    .superRefine((text, context) => {
      const message = fault(text)
      if (message) context.addIssue({ ...valueError(message), input: undefined })
    })

const serverUrl = () => checked(urlFault)

/** A bare string stands for a server with that URL. */
const orBareUrl = <S extends z.ZodType>(server: S) =>
  z.preprocess(value => (typeof value === 'string' ? { url: value } : value), server)

export const MCPSSEServerConfig = z
  .object({ url: serverUrl(), api_key: secret().nullish() })
  .meta({ id: 'MCPSSEServerConfig' })

const timeout = () =>
  z
    .int()
    .refine(seconds => seconds > 0, { error: 'Timeout must be positive', params: { type: 'value_error' } })
    .refine(seconds => seconds <= 3600, {
      error: 'Timeout cannot exceed 3600 seconds',
      params: { type: 'value_error' },
    })
    .meta({ minimum: 1, maximum: 3600, description: 'In seconds' })
    .nullish()

export const MCPSHTTPServerConfig = z
  .object({ url: serverUrl(), api_key: secret().nullish(), timeout: timeout() })
  .meta({ id: 'MCPSHTTPServerConfig' })

/** A string is split as a shell would. */
const args = () =>
  z
    .preprocess((value, context) => {
      if (value === null) return []
      if (typeof value !== 'string') return value
      const words = shellWords(value)
      if (words) return words
      context.addIssue({ ...valueError('Invalid argument format: no closing quotation'), input: undefined })
      return z.NEVER
    }, z.array(z.string()))
    .optional()

/** A string is read as `NAME=value,NAME=value`. */
const env = () =>
  z
    .preprocess(
      (value, context) => {
        if (value === null) return {}
        if (typeof value !== 'string') return value
        const pairs = envPairs(value)
        if (pairs) return pairs
        context.addIssue({ ...valueError('Environment variables must be written as NAME=value'), input: undefined })
        return z.NEVER
      },
      z.record(z.string(), secret()),
    )
    .optional()

export const MCPStdioServerConfig = z
  .object({ name: checked(nameFault), command: checked(commandFault), args: args(), env: env() })
  .meta({ id: 'MCPStdioServerConfig' })

/** A list that is left out keeps its servers, so none has a default here. */
export const MCPConfig = z
  .strictObject({
    sse_servers: z.array(orBareUrl(MCPSSEServerConfig)).optional(),
    stdio_servers: z.array(MCPStdioServerConfig).optional(),
    shttp_servers: z.array(orBareUrl(MCPSHTTPServerConfig)).optional(),
  })
  .superRefine((config, context) => {
    const urls = [...(config.sse_servers ?? []), ...(config.shttp_servers ?? [])].map(server => sameUrl(server.url))
    if (hasDuplicate(urls)) context.addIssue(valueError('Duplicate MCP server URLs are not allowed'))
    if (hasDuplicate((config.stdio_servers ?? []).map(server => server.name)))
      context.addIssue(valueError('Duplicate MCP server names are not allowed'))
  })
  .meta({ id: 'MCPConfig' })
export type MCPConfig = z.output<typeof MCPConfig>

/** URLs that differ only in spelling name the same server. */
export const sameUrl = (url: string): string => (URL.canParse(url) ? new URL(url).href : url)

const hasDuplicate = (names: string[]) => new Set(names).size < names.length

function urlFault(url: string): string | undefined {
  if (url === '') return 'URL cannot be empty'
  const [, scheme, host] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(url) ?? []
  if (!scheme) return 'URL must include a scheme (http:// or https://)'
  if (!host) return 'URL must include a valid domain/host'
  if (!/^(https?|wss?)$/i.test(scheme)) return 'URL scheme must be http, https, ws, or wss'
  return URL.canParse(url) ? undefined : 'URL must include a valid domain/host'
}

function nameFault(name: string): string | undefined {
  if (name === '') return 'Server name cannot be empty'
  if (/^[a-zA-Z0-9_-]+$/.test(name)) return undefined
  return 'Server name can only contain letters, numbers, hyphens, and underscores'
}

function commandFault(command: string): string | undefined {
  if (command === '') return 'Command cannot be empty'
  return /\s/.test(command) ? 'Command should be a single executable without spaces; put the rest into args' : undefined
}

/** Undefined when a quote is not closed. */
function shellWords(text: string): string[] | undefined {
  const word = /(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gsy
  const words: string[] = []
  for (let rest = text.trimStart(); rest !== ''; rest = rest.slice(word.lastIndex).trimStart()) {
    word.lastIndex = 0
    const found = word.exec(rest)?.[0]
    if (!found) return undefined
    words.push(found.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, unquote))
  }
  return words
}

const unquote = (_: string, single?: string, double?: string, escaped?: string) =>
  single ?? double?.replace(/\\([\\"])/g, '$1') ?? escaped ?? ''

function envPairs(text: string): Record<string, string> | undefined {
  const pairs = text.split(',').filter(pair => pair.trim() !== '')
  const matches = pairs.map(pair => /^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=(.*)$/s.exec(pair))
  if (matches.some(match => !match)) return undefined
  return Object.fromEntries(matches.map(match => [match![1]!, match![2]!.trim()]))
}
