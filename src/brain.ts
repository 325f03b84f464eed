import { Catalogue } from './agent/catalogue.ts'
import { probe } from './agent/mcp.ts'
import type { OpenModel } from './agent/model.ts'
import { listModels } from './agent/models/catalogue.ts'
import { demoModel } from './agent/models/demo.ts'
import { findLocalServers } from './agent/models/local.ts'
import { makeOpenModel } from './agent/models/open.ts'
import type { Tool } from './agent/tool.ts'
import { makeSwitchLlm } from './agent/tools/switch-llm.ts'
import type { MCPServer } from './api/mcp.ts'
import { Asides } from './conversation/asides.ts'
import { Budgets } from './conversation/budgets.ts'
import { Control } from './conversation/control.ts'
import { type Caution, Conversations } from './conversation/conversations.ts'
import { Events } from './conversation/events.ts'
import { Feed } from './conversation/feed.ts'
import { Forks } from './conversation/fork.ts'
import { Goals } from './conversation/goals.ts'
import { Journal } from './conversation/journal.ts'
import { Models } from './conversation/models.ts'
import type { Order } from './conversation/order.ts'
import { Runner } from './conversation/runner.ts'
import { Sessions } from './conversation/sessions.ts'
import { settling } from './conversation/settled.ts'
import { Subagents } from './conversation/subagents.ts'
import { Thinking } from './conversation/thinking.ts'
import { Titles } from './conversation/titles.ts'
import type { Log } from './lib/log.ts'
import type { Vault } from './policy/secrets.ts'
import { guardedFetch } from './sandbox/egress/fetch.ts'
import { DEFAULT_SANDBOX, type Sandbox } from './sandbox/sandbox.ts'
import { LlmProfiles } from './settings/profiles.ts'
import type { SettingsService } from './settings/settings.ts'
import type { UserSkills } from './settings/user-skills.ts'
import type { Store } from './store/store.ts'

export interface BrainParts {
  store: Store
  vault: Vault
  settings: SettingsService
  log: Log
  reach(sandbox: string): Promise<Sandbox>
  isRunning(sandbox: string): boolean
  workingDirOf(sandbox: string): string
  userSkills(): Promise<UserSkills>
  /** Hashes of files of projects that a person has approved. */
  approved(): Promise<ReadonlySet<string>>
  /** Told of a sandbox in which there is a conversation less. */
  left(sandbox: string): Promise<void>
  /** What is to be asked for, and who judges it, where an order does not say. */
  caution(): Promise<Caution>
  /** Rejects when a conversation cannot work in this folder. */
  checkFolder(folder: string, sandbox: string): Promise<void>
}

/** Everything that conversations think with, wired. */
export function openBrain({
  store,
  vault,
  settings,
  log,
  reach,
  isRunning,
  workingDirOf,
  userSkills,
  approved,
  left,
  caution,
  checkFolder,
}: BrainParts) {
  const { fetch, close: closeFetch } = guardedFetch()
  const feed = new Feed()
  const journal = new Journal(store, feed)
  const budgets = new Budgets(store)
  const provided = makeOpenModel({ fetch })
  const openModel: OpenModel = async llm => (llm.model === demoModel.name ? demoModel : provided(llm))
  const models = new Models(openModel, vault)
  const profiles = new LlmProfiles({ store, vault, settings, openModel })
  const asides = new Asides({ journal, models, budgets })
  const sessions: Sessions = new Sessions({
    store,
    vault,
    log,
    ask: (...question) => asides.ask(...question),
    keepLogin: (id, server, state) => {
      control.keepLogin(id, server, state).catch(error => log.warn('mcp', { conversation: id, error: String(error) }))
    },
    reach,
    isRunning,
    workingDirOf,
    userSkills,
    approved,
    secrets: { fetch, stored: name => settings.secrets.value(name) },
    more: (id, order) => [...subagents.tools(id, order), ...switchTools(id, order)],
  })
  const thinking = new Thinking({ store, journal, feed, sessions, models, budgets })
  const titles = new Titles({ journal, asides, log, profile: name => profiles.llm(name) })
  const snapshot = (id: string) => conversations.snapshot(id)
  const runner = new Runner({ journal, feed, log, work: thinking.work, snapshot })
  const conversations: Conversations = new Conversations({
    store,
    journal,
    feed,
    runner,
    vault,
    log,
    sessions,
    titles,
    heard: id => goals.stop(id),
    left,
    caution,
    checkFolder,
  })
  const control = new Control({ store, journal, runner, sessions, vault })
  const settled = settling(feed, journal)
  const subagents = new Subagents({ journal, conversations, control, settled })
  const goals: Goals = new Goals({ store, journal, conversations, control, asides, settled, log })
  const switchTools = (id: string, order: Order): Tool[] => {
    if (!order.agent.include_default_tools.includes('SwitchLLMTool')) return []
    const names = async () => (await profiles.list()).profiles.map(({ name }) => name)
    const switchTo = async (name: string) => {
      const llm = await profiles.forConversation(name)
      await control.useLlm(id, llm)
      return { model: llm.model }
    }
    return [makeSwitchLlm({ names, switchTo })]
  }
  /** Whether a server can be used. Takes it with its secrets opened. */
  const tryMcpServer = async (name: string, server: MCPServer, timeoutMs: number) => {
    const sandbox = () => reach(DEFAULT_SANDBOX)
    const options = { name, timeoutMs, sandbox, workingDir: workingDirOf(DEFAULT_SANDBOX), fetch }
    return (await probe(server, options)).ok
  }
  return {
    fetch,
    tryMcpServer,
    journal,
    profiles,
    catalogue: new Catalogue(listModels),
    feed,
    runner,
    conversations,
    control,
    goals,
    thinking,
    localModels: () => findLocalServers(fetch),
    forks: new Forks(store, journal),
    events: new Events(store),
    close: async () => {
      await goals.close()
      await titles.close()
      await runner.close()
      await sessions.close()
      await closeFetch()
    },
  }
}
