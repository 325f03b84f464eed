import { posix } from 'node:path'
import * as z from 'zod'
import { AgentDefinition } from '../api/agent.ts'
import { type Field, type Fields, readFrontmatter, Unreadable } from './skills/frontmatter.ts'
import { oneLine, visible } from './skills/text.ts'

export interface ReadAgent {
  agent: AgentDefinition | undefined
  problem?: string
}

const KNOWN = [
  'name',
  'description',
  'model',
  'color',
  'tools',
  'skills',
  'permission_mode',
  'max_iteration_per_run',
  'max_budget_per_run',
  'mcp_config',
  'mcp_servers',
]

/** The definition of a sub-agent from a Markdown file: its head says what it is, its body what it is told. */
export function readAgent(path: string, text: string, level: AgentDefinition['level']): ReadAgent {
  try {
    const { fields: written, body } = readFrontmatter(visible(text))
    const fields: Fields = Object.fromEntries(
      Object.entries(written).map(([name, value]) => [name.replaceAll('-', '_'), value]),
    )
    const said = (name: string): string | undefined => (typeof fields[name] === 'string' && fields[name]) || undefined
    const servers = fields.mcp_config ?? fields.mcp_servers
    const parsed = AgentDefinition.safeParse({
      name: said('name') ?? posix.basename(path).replace(/\.md$/i, ''),
      description: said('description'),
      model: said('model'),
      color: said('color'),
      tools: listed(fields.tools),
      skills: listed(fields.skills),
      system_prompt: body.trim(),
      source: path,
      level,
      when_to_use_examples: examplesIn(said('description') ?? ''),
      permission_mode: said('permission_mode'),
      max_iteration_per_run: numbered(said('max_iteration_per_run')),
      max_budget_per_run: numbered(said('max_budget_per_run')),
      mcp_config: servers,
      metadata: Object.fromEntries(Object.entries(fields).filter(([name]) => !KNOWN.includes(name))),
    })
    if (parsed.success) return { agent: parsed.data }
    throw new Unreadable(z.prettifyError(parsed.error))
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { agent: undefined, problem: oneLine(`${path}: ${error.message}`) }
  }
}

/** A list, or one text with commas between. */
const listed = (field: Field | undefined): Field | undefined =>
  typeof field === 'string'
    ? field
        .split(',')
        .map(item => item.trim())
        .filter(Boolean)
    : field

const numbered = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

const examplesIn = (description: string): string[] =>
  [...description.matchAll(/<example>([\s\S]*?)<\/example>/gi)].map(([, text]) => text!.trim()).filter(Boolean)
