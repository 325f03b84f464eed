import { posix } from 'node:path'
import * as z from 'zod'
import type { HookInput, HookResult } from '../agent/hooks/verdict.ts'
import { type HookQuestion, Hooks } from '../agent/hooks.ts'
import { McpServers, PATIENCE_MS } from '../agent/mcp.ts'
import { systemPrompt } from '../agent/prompt.ts'
import { loadProjectSkills, type ProjectSkills } from '../agent/skills/project.ts'
import { type Activation, activate, isInvocable, mergeSkills, rulesFor } from '../agent/skills.ts'
import type { Hands, Tool } from '../agent/tool.ts'
import { makeTools } from '../agent/toolbox.ts'
import { makeClientTool } from '../agent/tools/client.ts'
import { makeInvokeSkill } from '../agent/tools/invoke-skill.ts'
import type { Action } from '../api/actions.ts'
import type { TextContent } from '../api/common.ts'
import type { Draft } from '../api/draft.ts'
import type { HookEventType } from '../api/hooks.ts'
import { type MCPOAuthState, type MCPServer, mcpServers } from '../api/mcp.ts'
import type { Observation } from '../api/observations.ts'
import { Skill } from '../api/skills.ts'
import { abortable } from '../lib/abort.ts'
import type { Log } from '../lib/log.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import { run } from '../sandbox/run.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Asides } from './asides.ts'
import type { Order } from './order.ts'
import { ConversationSecrets, type SecretsParts } from './secrets.ts'

export interface SessionParts {
  vault: Vault
  log: Log
  secrets: Omit<SecretsParts, 'vault'>
  ask: Asides['ask']
  /** Takes the renewed tokens of an MCP server. */
  keepLogin(id: string, server: string, state: MCPOAuthState): void
  /** Where a sandbox's commands start, whether or not it runs. */
  workingDirOf(sandbox: string): string
  /** Those the user keeps for all conversations. */
  userSkills(inSession: () => Promise<Sandbox>): Promise<Pick<ProjectSkills, 'skills' | 'problems'>>
  /** Hashes of files of projects that a person has approved. */
  approved(): Promise<ReadonlySet<string>>
  reach(sandbox: string): Promise<Sandbox>
  /** Whether it can be reached without being started or woken. */
  isRunning(sandbox: string): boolean
}

export interface SessionOrder {
  id: string
  sandbox: string
  order: Order
  skills: readonly Skill[]
  /** Those that need to know more than a conversation: its siblings, the profiles. */
  tools: readonly Tool[]
}

/** How long the working directory may take to be made. */
const PREPARE_MS = 10_000

/** What hooks may take at the end: a server that stops waits for it. */
const FAREWELL_MS = 5_000

/** Makes the folder; one that is new or empty becomes a repository, so that there is something to compare with. */
const PREPARE = `mkdir -p -- "$1" && cd -- "$1" && [ -z "$(ls -A)" ] && command -v git >/dev/null && git init -q; [ -d "$1" ]`

/**
 * What a conversation has at hand while it is worked on: its tools with what they remember, its secrets, skills, hooks and MCP servers.
 * Nothing of it is needed to know the conversation: it can be let go of, and is made anew from the order.
 */
export class Session {
  readonly id: string
  readonly workingDir: string
  readonly #parts: SessionParts
  readonly #sandbox: string
  readonly #given: readonly Skill[]
  readonly #builtIn: readonly Tool[]
  readonly #connect: (brought: Record<string, MCPServer>) => McpServers
  readonly #hooks: Hooks | undefined
  readonly #closing = new AbortController()
  #order: Order
  #secrets: ConversationSecrets
  #skills: readonly Skill[]
  #mcp: McpServers
  #ready: Promise<void> | undefined
  /** The life of a sandbox in which its folder is there, or is being made. */
  #prepared: { sandbox: Sandbox; done: Promise<void> } | undefined
  #recalled = false

  constructor({ id, sandbox, order, skills, tools }: SessionOrder, parts: SessionParts) {
    const { agent, options, hook_config, client_tools, workspace } = order
    this.id = id
    this.#parts = parts
    this.#sandbox = sandbox
    this.#order = order
    this.#given = openAll(parts.vault, z.array(Skill), [...skills])
    this.#skills = this.#merged([], [])
    this.#secrets = new ConversationSecrets(order, { ...parts.secrets, vault: parts.vault })
    this.workingDir = posix.resolve(parts.workingDirOf(sandbox), workspace.working_dir)
    this.#builtIn = [...makeTools(agent), ...client_tools.map(makeClientTool), ...tools]
    const around = { sandbox: () => this.#reach(), workingDir: this.workingDir, egress: options.egress ?? undefined }
    this.#connect = brought =>
      new McpServers({
        servers: { ...brought, ...openAll(parts.vault, mcpServers, agent.mcp_config) },
        filter: agent.filter_tools_regex ? new RegExp(agent.filter_tools_regex) : undefined,
        taken: this.#builtIn.map(({ name }) => name),
        onNews: news => parts.log.warn('mcp', { conversation: id, news: this.mask(news) }),
        onTokens: (server, state) => parts.keepLogin(id, server, state),
        fetch: parts.secrets.fetch,
        ...around,
      })
    this.#mcp = this.#connect({})
    const ask = ({ name, system, prompt, signal }: HookQuestion) =>
      parts.ask(id, this.#order, { usage: `prompt-hook:${name}`, system, prompt }, signal)
    this.#hooks = hook_config ? new Hooks(hook_config, { ...around, sessionId: id, ask }) : undefined
  }

  get order(): Order {
    return this.#order
  }

  /** Takes up what was changed in the order: the model, the secrets. */
  adopt(order: Order): void {
    this.#order = order
    this.#secrets = new ConversationSecrets(order, { ...this.#parts.secrets, vault: this.#parts.vault })
  }

  /** Gets ready what a run will most likely need, until it is over. No sandbox is started or woken for it. */
  warm(signal: AbortSignal): void {
    if (this.#order.agent.tools.length === 0 || !this.#parts.isRunning(this.#sandbox)) return
    const sandbox = () => this.#parts.reach(this.#sandbox)
    for (const tool of this.#builtIn) tool.warm?.({ ...this.hands(signal), sandbox })
    this.#reach().catch(() => undefined)
  }

  /** Resolves when skills and MCP servers are there, or known not to be: a bad one delays nobody for long, and fails nothing. */
  ready(signal: AbortSignal): Promise<void> {
    this.#ready ??= this.#loadSkills()
      .catch(() => undefined)
      // Skills may bring servers.
      .then(() => this.#mcp.open(PATIENCE_MS, this.#closing.signal))
      .catch(() => undefined)
    return abortable(this.#ready, signal)
  }

  /** Asked anew at each step: MCP servers come and go. */
  tools(): Tool[] {
    const invocable = this.#skills.filter(isInvocable)
    const skills = invocable.length > 0 ? [makeInvokeSkill(this.#skills)] : []
    return [...this.#builtIn, ...skills, ...this.#mcp.tools()]
  }

  /** Has tools remember what was observed before the session was made. */
  recall(observations: readonly Observation[]): void {
    if (this.#recalled) return
    this.#recalled = true
    for (const tool of this.#builtIn) tool.recall?.(observations)
  }

  hands(signal: AbortSignal): Hands {
    return {
      conversation: this.id,
      sandbox: () => this.#reach(),
      workingDir: this.workingDir,
      secretsFor: text => this.#secrets.for(text),
      egress: this.#order.options.egress ?? undefined,
      signal,
    }
  }

  mask<T>(value: T): T {
    return this.#secrets.mask(value)
  }

  /** The first event of a log. */
  introduction(): Draft {
    const { agent, options } = this.#order
    const tools = this.tools()
    const prompt = systemPrompt({
      agent,
      tools: tools.map(({ name }) => name),
      skills: this.#skills,
      secrets: this.#secrets.listed,
      workingDir: this.workingDir,
      datetime: agent.agent_context?.current_datetime ?? null,
      additions: [options.agent_launch_additions?.system_message_suffix_append ?? ''].filter(Boolean),
    })
    return {
      kind: 'SystemPromptEvent',
      source: 'agent',
      system_prompt: { type: 'text', text: prompt.static, cache_prompt: false },
      tools: tools.flatMap(({ definition }) => definition ?? []),
      ...(prompt.dynamic && { dynamic_context: { type: 'text', text: prompt.dynamic, cache_prompt: false } }),
    }
  }

  /** What a message calls for: skills, and what the order adds to every message. */
  addition(text: string, already: readonly string[]): { activated_skills: string[]; extended_content: TextContent[] } {
    const { activated, content } = activate(this.#skills, text, already)
    const suffix = this.#order.agent.agent_context?.user_message_suffix
    const more: TextContent[] = suffix ? [{ type: 'text', text: suffix, cache_prompt: false }] : []
    return { activated_skills: activated, extended_content: [...content, ...more] }
  }

  /** The rules for the files that an action touched, but for those told already. */
  rulesFor(action: Action, already: readonly string[]): Activation {
    const { path, file_path } = action as { path?: unknown; file_path?: unknown }
    const paths = [path, file_path].filter(one => typeof one === 'string')
    return rulesFor(this.#skills, paths, { workingDir: this.workingDir, already })
  }

  async hook(stage: HookEventType, input: HookInput, signal: AbortSignal): Promise<HookResult[]> {
    const results = (await this.#hooks?.run(stage, input, signal)) ?? []
    return results.map(result => this.mask(result))
  }

  get hasHooks(): boolean {
    return this.#hooks !== undefined
  }

  /** The MCP servers that cannot be used just now, and why. */
  problems(): { server: string; why: string }[] {
    return this.#mcp.problems()
  }

  /** Ends what its tools left running. Hooks may have a last word, which nobody waits for long. */
  async close(): Promise<void> {
    await this.hook('SessionEnd', {}, AbortSignal.timeout(FAREWELL_MS)).catch(() => undefined)
    this.#closing.abort()
    const tools = this.#builtIn.map(tool => tool.close?.())
    await Promise.allSettled([...tools, this.#mcp.close(), this.#hooks?.close()])
  }

  #merged(project: readonly Skill[], user: readonly Skill[]): Skill[] {
    const disabled = this.#order.agent.agent_context?.disabled_skills ?? []
    return mergeSkills({ given: this.#given, project, user, disabled })
  }

  async #loadSkills(): Promise<void> {
    const { load_user_skills, load_project_skills } = this.#order.agent.agent_context ?? {}
    const told = ({ skills, problems }: Pick<ProjectSkills, 'skills' | 'problems'>) => {
      for (const problem of problems) this.#parts.log.info('skills', { conversation: this.id, problem })
      return skills
    }
    const user = load_user_skills ? told(await this.#parts.userSkills(() => this.#reach())) : []
    this.#take([], user)
    if (!load_project_skills) return
    const approved = await this.#parts.approved()
    const found = await loadProjectSkills(await this.#reach(), this.workingDir, this.#closing.signal, approved)
    const project = told(found)
    for (const { source, hash } of found.untrusted)
      this.#parts.log.info('skills', {
        conversation: this.id,
        problem: `${source} waits for an approval`,
        sha256: hash,
      })
    this.#take(project, user)
  }

  /** With the servers they bring. */
  #take(project: readonly Skill[], user: readonly Skill[]): void {
    this.#skills = this.#merged(project, user)
    const found = this.#skills.filter(skill => project.includes(skill) || user.includes(skill))
    const brought = found.map(({ mcp_tools }) => mcp_tools ?? {})
    if (brought.some(servers => Object.keys(servers).length > 0))
      this.#mcp = this.#connect(Object.assign({}, ...brought))
  }

  async #reach(): Promise<Sandbox> {
    const sandbox = await this.#parts.reach(this.#sandbox)
    if (this.#prepared?.sandbox !== sandbox) this.#prepared = { sandbox, done: this.#prepare(sandbox) }
    const { done } = this.#prepared
    await done.catch(error => {
      // The next who asks tries again.
      if (this.#prepared?.done === done) this.#prepared = undefined
      throw error
    })
    return sandbox
  }

  async #prepare(sandbox: Sandbox): Promise<void> {
    const argv = ['/bin/sh', '-c', PREPARE, 'prepare', this.workingDir] as const
    const { code, stderr } = await run(sandbox, { argv, cwd: '/', timeoutMs: PREPARE_MS }, { limit: 4096 })
    if (code !== 0) throw new Error(`The folder ${this.workingDir} cannot be used: ${stderr.toString().trim()}`)
  }
}
