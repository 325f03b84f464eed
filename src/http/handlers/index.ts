import type { Catalogue } from '../../agent/catalogue.ts'
import type { McpProbes } from '../../agent/mcp/probes.ts'
import type { Routes } from '../../api/routes/index.ts'
import type { Events } from '../../conversation/events.ts'
import type { Imports } from '../../conversation/import.ts'
import type { Completions } from '../../gateway/completions.ts'
import { GitListings } from '../../git-providers/listings.ts'
import type { GitProviders } from '../../git-providers/providers.ts'
import { formatUtc } from '../../lib/time.ts'
import type { Library } from '../../library/library.ts'
import type { Bash } from '../../sandbox/bash.ts'
import type { AgentProfiles } from '../../settings/agent-profiles.ts'
import type { AppProfiles } from '../../settings/app-profiles.ts'
import type { Approvals } from '../../settings/approvals.ts'
import type { LlmProfiles } from '../../settings/profiles.ts'
import type { ProviderConnections } from '../../settings/provider-connections.ts'
import type { SkillLibrary } from '../../settings/skill-library.ts'
import type { Subscription } from '../../settings/subscription.ts'
import type { Users } from '../../settings/users.ts'
import type { Webhooks } from '../../webhooks/webhooks.ts'
import type { Workspaces } from '../../workspaces/workspaces.ts'
import type { Handlers } from '../server.ts'
import type { Streams } from '../stream.ts'
import { acpHandlers } from './acp.ts'
import { agentProfileHandlers } from './agent-profiles.ts'
import { type AppConversationHandlersParts, appConversationHandlers } from './app-conversations.ts'
import { appEventHandlers } from './app-events.ts'
import { appProfileHandlers } from './app-profiles.ts'
import { type AppSettingsHandlersParts, appSettingsHandlers } from './app-settings.ts'
import { approvalHandlers } from './approvals.ts'
import { bashHandlers } from './bash.ts'
import { catalogueHandlers } from './catalogue.ts'
import { completionHandlers } from './completions.ts'
import { type ControlHandlersParts, controlHandlers } from './control.ts'
import { conversationHandlers } from './conversations.ts'
import { customSecretHandlers } from './custom-secrets.ts'
import { desktopHandlers } from './desktop.ts'
import { eventHandlers } from './events.ts'
import { fileHandlers } from './files.ts'
import { gitHandlers } from './git.ts'
import { gitProviderHandlers } from './git-providers.ts'
import { initHandlers } from './init.ts'
import { installedSkillHandlers } from './installed-skills.ts'
import { mcpProbeHandlers } from './mcp-probes.ts'
import { pluginHandlers } from './plugins.ts'
import { profileHandlers } from './profiles.ts'
import { providerConnectionHandlers } from './provider-connections.ts'
import { providerTokenHandlers } from './provider-tokens.ts'
import { type SandboxHandlersParts, sandboxHandlers } from './sandboxes.ts'
import { type ServerParts, serverHandlers } from './server.ts'
import { settingsHandlers } from './settings.ts'
import { skillLibraryHandlers } from './skill-library.ts'
import { subAgentHandlers } from './sub-agents.ts'
import { subscriptionHandlers } from './subscription.ts'
import { userHandlers } from './users.ts'
import { type VscodeHandlersParts, vscodeHandlers } from './vscode.ts'
import { webClientHandlers } from './web-client.ts'
import { webhookHandlers } from './webhooks.ts'
import { workspaceHandlers } from './workspace.ts'
import { workspacesHandlers } from './workspaces.ts'

/** What handlers call. */
export interface HandlersParts
  extends ServerParts,
    ControlHandlersParts,
    Omit<AppConversationHandlersParts, 'control' | 'profiles'>,
    VscodeHandlersParts,
    SandboxHandlersParts {
  imports: Imports
  events: Events
  streams: Streams
  profiles: LlmProfiles
  agentProfiles: AgentProfiles
  connections: ProviderConnections
  appProfiles: AppProfiles
  users: Users
  approvals: Approvals
  gitProviders: GitProviders
  catalogue: Catalogue
  skills: SkillLibrary
  library: Library
  webhooks: Webhooks
  workspaces: Workspaces
  bash: Bash
  mcpProbes: McpProbes
  completions: Completions
  subscription: Subscription
  tryMcpServer: AppSettingsHandlersParts['tryMcpServer']
  /** Milliseconds since 1970. */
  started: number
}

/** A handler for every route. */
export const allHandlers = (parts: HandlersParts): Handlers<Routes> => {
  const { auth, conversations, control, events, settings, profiles, appProfiles, gitProviders, sandboxes, reach } =
    parts
  return {
    ...serverHandlers(parts),
    ...conversationHandlers(conversations, control, parts.imports, auth),
    ...controlHandlers(parts),
    ...acpHandlers(conversations),
    ...eventHandlers(conversations, control, events, parts.streams),
    ...settingsHandlers(settings, profiles),
    ...profileHandlers({ profiles, switchLlm: (id, llm) => control.useLlm(id, llm) }),
    ...agentProfileHandlers(parts.agentProfiles),
    ...providerConnectionHandlers(parts.connections),
    ...appSettingsHandlers({ ...parts, profiles: appProfiles }),
    ...appProfileHandlers(appProfiles),
    ...providerTokenHandlers(settings, (provider, given) => gitProviders.check(provider, given)),
    ...customSecretHandlers(settings.secrets),
    ...approvalHandlers(parts.approvals),
    ...bashHandlers(parts.bash),
    ...gitHandlers(parts.git),
    ...gitProviderHandlers(gitProviders, new GitListings(gitProviders)),
    ...fileHandlers(reach, parts.trajectories),
    ...workspaceHandlers(reach, conversations, auth),
    ...workspacesHandlers(parts.workspaces),
    ...userHandlers(parts.users, sandboxes),
    ...catalogueHandlers(parts.catalogue),
    ...webClientHandlers(formatUtc(parts.started * 1000)),
    ...skillLibraryHandlers(parts.skills, parts.library.marketplaces),
    ...installedSkillHandlers(parts.library.installedSkills, parts.library.marketplaces),
    ...pluginHandlers({ plugins: parts.library.plugins, conversations, control }),
    ...subAgentHandlers(parts.library.subAgents),
    ...webhookHandlers(parts.webhooks),
    ...appConversationHandlers(parts),
    ...appEventHandlers(conversations, events),
    ...sandboxHandlers(parts),
    ...mcpProbeHandlers(parts.mcpProbes),
    ...completionHandlers(parts.completions),
    ...subscriptionHandlers(parts.subscription),
    ...vscodeHandlers(parts),
    ...desktopHandlers(),
    ...initHandlers(),
  }
}
