import { acpRoutes } from './acp.ts'
import { agentProfileRoutes } from './agent-profiles.ts'
import { appConversationRoutes } from './app-conversations.ts'
import { appEventRoutes } from './app-events.ts'
import { appProfileRoutes } from './app-profiles.ts'
import { appSettingsRoutes } from './app-settings.ts'
import { approvalRoutes } from './approvals.ts'
import { bashRoutes } from './bash.ts'
import { catalogueRoutes } from './catalogue.ts'
import { completionRoutes } from './completions.ts'
import { controlRoutes } from './control.ts'
import { conversationRoutes } from './conversations.ts'
import { customSecretRoutes } from './custom-secrets.ts'
import { desktopRoutes } from './desktop.ts'
import { eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { gitRoutes } from './git.ts'
import { gitProviderRoutes } from './git-providers.ts'
import { initRoutes } from './init.ts'
import { installedSkillRoutes } from './installed-skills.ts'
import { mcpProbeRoutes } from './mcp-probes.ts'
import { pluginRoutes } from './plugins.ts'
import { profileRoutes } from './profiles.ts'
import { providerConnectionRoutes } from './provider-connections.ts'
import { providerTokenRoutes } from './provider-tokens.ts'
import { sandboxRoutes } from './sandboxes.ts'
import { serverRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'
import { skillLibraryRoutes } from './skill-library.ts'
import { subAgentRoutes } from './sub-agents.ts'
import { subscriptionRoutes } from './subscription.ts'
import { userRoutes } from './users.ts'
import { vscodeRoutes } from './vscode.ts'
import { webClientRoutes } from './web-client.ts'
import { webhookRoutes } from './webhooks.ts'
import { workspaceRoutes } from './workspace.ts'
import { workspacesRoutes } from './workspaces.ts'

/** Written out: as what the compiler infers, it would be too long to be published. */
export type Routes = typeof appConversationRoutes &
  typeof appEventRoutes &
  typeof serverRoutes &
  typeof conversationRoutes &
  typeof controlRoutes &
  typeof acpRoutes &
  typeof eventRoutes &
  typeof settingsRoutes &
  typeof profileRoutes &
  typeof agentProfileRoutes &
  typeof providerConnectionRoutes &
  typeof appSettingsRoutes &
  typeof appProfileRoutes &
  typeof providerTokenRoutes &
  typeof customSecretRoutes &
  typeof approvalRoutes &
  typeof bashRoutes &
  typeof gitRoutes &
  typeof gitProviderRoutes &
  typeof fileRoutes &
  typeof workspaceRoutes &
  typeof workspacesRoutes &
  typeof sandboxRoutes &
  typeof webhookRoutes &
  typeof userRoutes &
  typeof catalogueRoutes &
  typeof webClientRoutes &
  typeof skillLibraryRoutes &
  typeof installedSkillRoutes &
  typeof pluginRoutes &
  typeof subAgentRoutes &
  typeof mcpProbeRoutes &
  typeof completionRoutes &
  typeof subscriptionRoutes &
  typeof vscodeRoutes &
  typeof desktopRoutes &
  typeof initRoutes

/** Every route there is. The order matters where two patterns match one path: the literal one stands first. */
export const routes: Routes = {
  ...appConversationRoutes,
  ...appEventRoutes,
  ...serverRoutes,
  ...conversationRoutes,
  ...controlRoutes,
  ...acpRoutes,
  ...eventRoutes,
  ...settingsRoutes,
  ...profileRoutes,
  ...agentProfileRoutes,
  ...providerConnectionRoutes,
  ...appSettingsRoutes,
  ...appProfileRoutes,
  ...providerTokenRoutes,
  ...customSecretRoutes,
  ...approvalRoutes,
  ...bashRoutes,
  ...gitRoutes,
  ...gitProviderRoutes,
  ...fileRoutes,
  ...workspaceRoutes,
  ...workspacesRoutes,
  ...sandboxRoutes,
  ...webhookRoutes,
  ...userRoutes,
  ...catalogueRoutes,
  ...webClientRoutes,
  ...skillLibraryRoutes,
  ...installedSkillRoutes,
  ...pluginRoutes,
  ...subAgentRoutes,
  ...mcpProbeRoutes,
  ...completionRoutes,
  ...subscriptionRoutes,
  ...vscodeRoutes,
  ...desktopRoutes,
  ...initRoutes,
}
