import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { readAgent } from '../agent/subagent-file.ts'
import { AgentDefinition } from '../api/agent.ts'
import { Fault } from '../api/errors.ts'
import type { SubAgentInfo, SubAgentsRequest, SubAgentsResponse } from '../api/sub-agents.ts'
import { GENERAL } from '../conversation/subagents.ts'
import type { Log } from '../lib/log.ts'
import { Files } from '../sandbox/files.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { AGENT_BYTES, PER_PROJECT } from './limits.ts'

export interface SubAgentsParts {
  /** The user's own, of this machine. No sandbox sees it. */
  folder: string
  reach(sandbox?: string): Promise<Sandbox>
  log: Log
}

/** Sub-agents that are written down: an order names those it wants by their definitions. */
export class SubAgents {
  readonly #parts: SubAgentsParts

  constructor(parts: SubAgentsParts) {
    this.#parts = parts
  }

  /** Of two with one name the project's is taken, then the user's. */
  async list(request: SubAgentsRequest, scope?: string): Promise<SubAgentsResponse> {
    const { load_user, load_project, load_builtin, project_dir } = request
    const found = [
      ...(load_project && project_dir !== null ? await this.#ofProject(project_dir, scope) : []),
      ...(load_user ? await this.#ofUser() : []),
      ...(load_builtin ? [AgentDefinition.parse({ ...GENERAL, level: 'builtin' })] : []),
    ]
    const agents = found.filter(({ name }, i) => found.findIndex(one => one.name === name) === i)
    return { agents: agents.map(infoOf) }
  }

  async #ofProject(projectDir: string, scope: string | undefined): Promise<AgentDefinition[]> {
    const sandbox = await this.#parts.reach(scope)
    const files = new Files(sandbox)
    const found: AgentDefinition[] = []
    for (const folder of ['.agents/agents', '.openhands/agents']) {
      const parent = posix.resolve(sandbox.workingDir, projectDir, folder)
      const names = await files.list(parent).then(entries => entries.map(({ name }) => name), absent)
      for (const name of markdown(names)) {
        const path = posix.join(parent, name)
        const text = await files.read(path, AGENT_BYTES).catch(absent)
        found.push(...this.#read(path, text.toString(), 'project'))
      }
    }
    return found
  }

  async #ofUser(): Promise<AgentDefinition[]> {
    const { folder } = this.#parts
    const names = await readdir(folder).catch(() => [])
    const texts = markdown(names).map(async name => {
      const text = await readFile(join(folder, name), 'utf8').catch(() => '')
      return this.#read(`user/${name}`, text.slice(0, AGENT_BYTES), 'user')
    })
    return (await Promise.all(texts)).flat()
  }

  #read(path: string, text: string, level: AgentDefinition['level']): AgentDefinition[] {
    if (text.trim() === '') return []
    const { agent, problem } = readAgent(path, text, level)
    if (problem) this.#parts.log.info('sub-agents', { problem })
    return agent ? [agent] : []
  }
}

const markdown = (names: readonly string[]): string[] =>
  names
    .filter(name => /\.md$/i.test(name) && name.toLowerCase() !== 'readme.md')
    .sort()
    .slice(0, PER_PROJECT)

/** A folder or file that is not there, or is no such thing, holds none. */
function absent(error: unknown): never[] {
  const isAbsent =
    error instanceof Fault && /^(file_not_found|directory_not_found|not_a_|file_too_large)/.test(error.code)
  if (isAbsent) return []
  throw error
}

const infoOf = (agent: AgentDefinition): SubAgentInfo => ({
  ...agent,
  mcp_servers: agent.mcp_config,
  is_builtin: agent.level === 'builtin',
})
