import { appConversationRoutes } from './app-conversations.ts'
import { appEventRoutes } from './app-events.ts'
import { appProfileRoutes } from './app-profiles.ts'
import { appSettingsRoutes } from './app-settings.ts'
import { approvalRoutes } from './approvals.ts'
import { bashRoutes } from './bash.ts'
import { catalogueRoutes } from './catalogue.ts'
import { controlRoutes } from './control.ts'
import { conversationRoutes } from './conversations.ts'
import { customSecretRoutes } from './custom-secrets.ts'
import { eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { gitRoutes } from './git.ts'
import { gitProviderRoutes } from './git-providers.ts'
import { profileRoutes } from './profiles.ts'
import { providerTokenRoutes } from './provider-tokens.ts'
import { sandboxRoutes } from './sandboxes.ts'
import { serverRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'
import { skillLibraryRoutes } from './skill-library.ts'
import { userRoutes } from './users.ts'
import { webClientRoutes } from './web-client.ts'
import { webhookRoutes } from './webhooks.ts'
import { workspaceRoutes } from './workspace.ts'
import { workspacesRoutes } from './workspaces.ts'

/** Every route there is. The order matters where two patterns match one path: the literal one stands first. */
export const routes = {
  ...appConversationRoutes,
  ...appEventRoutes,
  ...serverRoutes,
  ...conversationRoutes,
  ...controlRoutes,
  ...eventRoutes,
  ...settingsRoutes,
  ...profileRoutes,
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
}
export type Routes = typeof routes
