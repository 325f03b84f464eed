import { posix } from 'node:path'
import * as z from 'zod'
import { unsupportedHooks } from '../agent/hooks.ts'
import type { Kit } from '../agent/kit.ts'
import { readSkill } from '../agent/skills/read.ts'
import { visible } from '../agent/skills/text.ts'
import { readAgent } from '../agent/subagent-file.ts'
import type { AgentDefinition } from '../api/agent.ts'
import { fault } from '../api/errors.ts'
import { HookConfig, hookStages } from '../api/hooks.ts'
import { PackageName } from '../api/installed-skills.ts'
import { MCPServer, mcpServers } from '../api/mcp.ts'
import type { Skill } from '../api/skills.ts'
import { type Package, textOf } from './package.ts'

export interface Plugin {
  name: string
  version: string
  description: string
  /** Its own folder is written as ROOT: where that lies is known only in a sandbox. */
  brings: Kit
}

const ROOT = `\${CLAUDE_PLUGIN_ROOT}`
/** What plugins for other programs call it. */
const ROOTS = /\$\{(?:CLAUDE_PLUGIN_ROOT|PLUGIN_ROOT|SKILL_ROOT)\}/g

const Manifest = z.object({
  name: z.string(),
  version: z.string().default('1.0.0'),
  description: z.string().default(''),
})

/**
 * A plugin from its files: `.plugin/plugin.json` or `.claude-plugin/plugin.json`, `skills/`, `commands/`, `agents/`, `hooks/hooks.json`,
 * `.mcp.json`. One that is half understood would do half of what a person wanted: it is refused, with the reason.
 */
export function readPlugin(files: Package, fallback: string): Plugin {
  const written = textOf(files, '.plugin/plugin.json') ?? textOf(files, '.claude-plugin/plugin.json')
  const manifest = parsed(
    'plugin.json',
    Manifest,
    written === undefined ? { name: fallback } : json('plugin.json', written),
  )
  const name = PackageName.safeParse(manifest.name).data
  if (name === undefined) throw invalid(`${JSON.stringify(manifest.name)} cannot be its name: a-z, 0-9 and - between`)
  const brings: Kit = {
    skills: [...skillsIn(files), ...commandsIn(files, name)],
    mcp_config: serversIn(files),
    hook_config: hooksIn(files),
    agent_definitions: agentsIn(files),
  }
  const isEmpty = [brings.skills, Object.keys(brings.mcp_config), brings.agent_definitions].every(
    all => all.length === 0,
  )
  if (written === undefined && isEmpty && brings.hook_config === null)
    throw invalid('There is no plugin: neither a plugin.json nor skills, commands, agents, hooks or servers')
  return { ...manifest, name, brings }
}

/** The same with its folder in a sandbox. */
export function placed(kit: Kit, root: string): Kit {
  const { skills, mcp_config, hook_config, agent_definitions } = kit
  const put = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll(ROOT, JSON.stringify(root).slice(1, -1)))
  return {
    skills: put(skills),
    mcp_config: put(mcp_config),
    hook_config: put(hook_config),
    agent_definitions: put(agent_definitions),
  }
}

function skillsIn(files: Package): Skill[] {
  const paths = files.files.map(({ path }) => path).filter(path => /^skills\/([^/]+\.md|[^/]+\/SKILL\.md)$/i.test(path))
  return paths.flatMap(path => (posix.basename(path).toLowerCase() === 'readme.md' ? [] : [skillAt(files, path)]))
}

function skillAt(files: Package, path: string): Skill {
  const text = visible(textOf(files, path)!).replace(ROOTS, ROOT)
  const { skill, problems } = readSkill({ path: `${ROOT}/${path}`, text }, { trusted: true })
  if (!skill) throw invalid(problems.join('; '))
  return skill
}

/** A command is a skill that is called by name, the plugin's before it. */
function commandsIn(files: Package, plugin: string): Skill[] {
  return markdownIn(files, 'commands').map(path => {
    const skill = skillAt(files, path)
    const name = `${plugin}:${posix.basename(path).slice(0, -'.md'.length)}`
    return { ...skill, name, trigger: { type: 'task', triggers: [`/${name}`] } }
  })
}

/** By the name that other programs have for them, the tools that sub-agents are given. */
const TOOLS: Readonly<Record<string, string>> = {
  Read: 'read_file',
  Write: 'write_file',
  Edit: 'edit',
  Bash: 'terminal',
  Grep: 'grep',
  Glob: 'glob',
  LS: 'list_directory',
}

function agentsIn(files: Package): AgentDefinition[] {
  return markdownIn(files, 'agents').map(path => {
    const text = textOf(files, path)!.replace(ROOTS, ROOT)
    const { agent, problem } = readAgent(`${ROOT}/${path}`, text, 'plugin')
    if (!agent) throw invalid(problem!)
    return { ...agent, tools: agent.tools.map(name => TOOLS[name] ?? name) }
  })
}

const markdownIn = ({ files }: Package, folder: string): string[] =>
  files
    .map(({ path }) => path)
    .filter(
      path =>
        posix.dirname(path) === folder && path.endsWith('.md') && posix.basename(path).toLowerCase() !== 'readme.md',
    )

/** Stages that are not known here are left out: nothing would ever come to them. */
function hooksIn(files: Package): HookConfig | null {
  const path = 'hooks/hooks.json'
  const text = textOf(files, path)
  if (text === undefined) return null
  const { hooks, ...beside } = parsed(path, z.record(z.string(), z.unknown()), json(path, text.replace(ROOTS, ROOT)))
  const stages = parsed(path, z.record(z.string(), z.unknown()), hooks ?? beside)
  const known = Object.entries(hookStages).flat()
  const config = parsed(
    path,
    HookConfig,
    Object.fromEntries(Object.entries(stages).filter(([name]) => known.includes(name))),
  )
  const [never] = unsupportedHooks(config)
  if (never) throw invalid(`${path}: ${never}`)
  return config
}

const SERVER_FIELDS = Object.keys(MCPServer.shape)

function serversIn(files: Package): Record<string, MCPServer> {
  const path = '.mcp.json'
  const text = textOf(files, path)
  if (text === undefined) return {}
  const whole = parsed(path, z.record(z.string(), z.unknown()), json(path, text.replace(ROOTS, ROOT)))
  const servers = parsed(path, z.record(z.string(), z.record(z.string(), z.unknown())), whole.mcpServers ?? whole)
  const understood = Object.entries(servers).map(([name, { type, ...server }]) => [
    name,
    Object.fromEntries(
      Object.entries({ ...(type !== undefined && { transport: type }), ...server }).filter(([field]) =>
        SERVER_FIELDS.includes(field),
      ),
    ),
  ])
  return parsed(path, mcpServers, Object.fromEntries(understood))
}

function json(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid(`${path} is not JSON`)
  }
}

function parsed<S extends z.ZodType>(path: string, schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path: at, message } = result.error.issues[0]!
  throw invalid(`${[path, ...at].join('.')}: ${message}`)
}

const invalid = (why: string) => fault('package_invalid', why)
