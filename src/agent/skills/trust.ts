import { createHash } from 'node:crypto'
import { HookConfig } from '../../api/hooks.ts'
import { type Fields, readFrontmatter, Unreadable } from './frontmatter.ts'

/** What somebody has to say yes to before it has any effect. */
export interface Trust {
  /** Of the whole file: a yes is to these very bytes. */
  hash: string
  /** Everything that the yes would put into effect, a line each. */
  what: string[]
}

/** In the head of a skill, by the name with underscores: what reaches beyond words for the model. Nothing else but known fields is read. */
const GUARDED: readonly string[] = [
  'mcp_tools',
  'mcp_servers',
  'allowed_tools',
  'hooks',
  'model',
  'llm',
  'base_url',
  'api_key',
  'env',
  'permissions',
  'permission_mode',
  'confirmation_policy',
  'security_analyzer',
]

export const guardedIn = (fields: Fields): [string, Fields[string]][] =>
  Object.entries(fields).filter(([name]) => GUARDED.includes(name.replaceAll('-', '_')))

/** Undefined when the file, a skill or the `hooks.json` of a project, asks for nothing that needs a yes. */
export function trustNeeded(kind: 'skill' | 'hooks', text: string): Trust | undefined {
  const what = kind === 'skill' ? asksOf(text) : hooksOf(text)
  return what.length === 0 ? undefined : { hash: createHash('sha256').update(text).digest('hex'), what }
}

export const isTrusted = (hash: string, approved: ReadonlySet<string>): boolean => approved.has(hash)

function asksOf(text: string): string[] {
  try {
    return guardedIn(readFrontmatter(text).fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  } catch (error) {
    if (error instanceof Unreadable) return []
    throw error
  }
}

function hooksOf(text: string): string[] {
  return Object.entries(readHooks(text) ?? {}).flatMap(([stage, matchers]) =>
    matchers.flatMap(({ matcher, hooks }) =>
      hooks.map(
        hook => `${stage} (${matcher}): ${hook.type === 'command' ? hook.command : `${hook.type}: ${hook.prompt}`}`,
      ),
    ),
  )
}

/** A project's `hooks.json`; undefined when it is none. */
export function readHooks(text: string): HookConfig | undefined {
  try {
    return HookConfig.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
