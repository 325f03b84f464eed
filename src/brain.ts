import { posix } from 'node:path'
import { Catalogue } from './agent/catalogue.ts'
import { McpProbes } from './agent/mcp/probes.ts'
import { probe } from './agent/mcp.ts'
import type { OpenModel } from './agent/model.ts'
import { listModels } from './agent/models/catalogue.ts'
import { demoModel } from './agent/models/demo.ts'
import { findLocalServers } from './agent/models/local.ts'
import { makeOpenModel } from './agent/models/open.ts'
import type { Tool } from './agent/tool.ts'
import { makeSwitchLlm } from './agent/tools/switch-llm.ts'
import { MCPOAuthState, MCPServer } from './api/mcp.ts'
import { mapSecrets } from './api/secret.ts'
import type { MarketplaceRegistration } from './api/skills.ts'
import { Asides } from './conversation/asides.ts'
import { Budgets } from './conversation/budgets.ts'
import { Control } from './conversation/control.ts'
import { type Caution, Conversations } from './conversation/conversations.ts'
import { Events } from './conversation/events.ts'
import { Feed } from './conversation/feed.ts'
import { Forks } from './conversation/fork.ts'
import { Goals } from './conversation/goals.ts'
import { Imports } from './conversation/import.ts'
import { Journal } from './conversation/journal.ts'
import { Models } from './conversation/models.ts'
import type { Order } from './conversation/order.ts'
import { Runner } from './conversation/runner.ts'
import { Sessions } from './conversation/sessions.ts'
import { settling } from './conversation/settled.ts'
import { Subagents } from './conversation/subagents.ts'
import { Thinking } from './conversation/thinking.ts'
import { Titles } from './conversation/titles.ts'
import { Completions } from './gateway/completions.ts'
import { GitProviders } from './git-providers/providers.ts'
import type { Log } from './lib/log.ts'
import { openLibrary } from './library/library.ts'
import { openAll, type Vault } from './policy/secrets.ts'
import { prepareWorktree } from './repository/conversation-worktree.ts'
import { guardedFetch } from './sandbox/egress/fetch.ts'
import { DEFAULT_SANDBOX, type Sandbox } from './sandbox/sandbox.ts'
import { openProfiles } from './settings/open-profiles.ts'
import type { SettingsService } from './settings/settings.ts'
import { Subscription } from './settings/subscription.ts'
import type { Store } from './store/store.ts'

/** Inside a sandbox: where conversations have worktrees of their own. */
const WORKTREES = '/tmp/conversation-worktrees'

/** What is waited for ends by itself. */
const NEVER = new AbortController().signal

export interface BrainParts {
  store: Store
  vault: Vault
  settings: SettingsService
  log: Log
  reach(sandbox: string): Promise<Sandbox>
  isRunning(sandbox: string): boolean
  workingDirOf(sandbox: string): string
  /** The data folder: the user's own skills and sub-agents lie there. */
  data: string
  marketplaces: readonly MarketplaceRegistration[]
  /** Hashes of files of projects that a person has approved. */
  approved(): Promise<ReadonlySet<string>>
  /** Told of a sandbox in which there is a conversation less. */
  left(sandbox: string): Promise<void>
  /** What is to be asked for, and who judges it, where an order does not say. */
  caution(): Promise<Caution>
  /** Rejects when a conversation cannot work in this folder. */
  checkFolder(folder: string, sandbox: string): Promise<void>
  /** Who gives logins for subscriptions; without one there are none. */
  subscriptionIssuer?: string | undefined
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
  data,
  marketplaces,
  approved,
  left,
  caution,
  checkFolder,
  subscriptionIssuer,
}: BrainParts) {
  const { fetch, close: closeFetch } = guardedFetch()
  const feed = new Feed()
  const journal = new Journal(store, feed)
  const budgets = new Budgets(store)
  const provided = makeOpenModel({ fetch })
  const openModel: OpenModel = async llm => (llm.model === demoModel.name ? demoModel : provided(llm))
  const gitProviders = new GitProviders({ tokens: () => settings.providerTokens(), fetch })
  const library = openLibrary({
    store,
    data,
    marketplaces,
    reach: (id = DEFAULT_SANDBOX) => reach(id),
    remoteOf: (...asked) => gitProviders.remoteOf(...asked),
    log,
  })
  const skillNames = async () => (await library.userSkills()).skills.map(({ name }) => name)
  const { connections, profiles, agentProfiles } = openProfiles({ store, vault, settings, openModel, skillNames })
  const models = new Models(openModel, vault, llm => connections.connect(llm))
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
    userSkills: library.userSkills,
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
    worktree: async (sandbox, folder, id) => {
      const absolute = posix.resolve(workingDirOf(sandbox), folder)
      return prepareWorktree(await reach(sandbox), absolute, id, { root: WORKTREES, signal: NEVER })
    },
    left,
    caution,
    checkFolder,
    launch: (...asked) => agentProfiles.resolve(...asked),
    loadPlugins: (...asked) => library.plugins.load(...asked),
  })
  const control = new Control({ store, journal, runner, sessions, vault })
  const settled = settling(feed, journal)
  const subagents = new Subagents({ store, journal, conversations, control, settled })
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
  const mcpProbes = new McpProbes({
    around: (id = DEFAULT_SANDBOX) => ({ sandbox: () => reach(id), workingDir: workingDirOf(id), fetch }),
    open: server => openAll(vault, MCPServer, vault.sealAll(MCPServer, server)),
    hide: state => mapSecrets(MCPOAuthState, state, plain => vault.toToken(plain)),
  })
  const workingDir = () => workingDirOf(DEFAULT_SANDBOX)
  const talk = { feed, journal, conversations, control }
  const completions = new Completions({ ...talk, profiles, settings, vault, workingDir })
  return {
    library,
    gitProviders,
    tryMcpServer,
    mcpProbes,
    completions,
    subscription: new Subscription({ store, vault, fetch, issuer: subscriptionIssuer }),
    journal,
    connections,
    profiles,
    agentProfiles,
    catalogue: new Catalogue(listModels),
    feed,
    runner,
    conversations,
    control,
    goals,
    thinking,
    localModels: () => findLocalServers(fetch),
    forks: new Forks(store, journal),
    imports: new Imports({ store, vault, caution, checkFolder, workingDirOf }),
    events: new Events(store),
    close: async () => {
      mcpProbes.close()
      library.close()
      await completions.close()
      await goals.close()
      await titles.close()
      await runner.close()
      await sessions.close()
      await closeFetch()
    },
  }
}
