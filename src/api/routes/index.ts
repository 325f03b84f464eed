import { bashRoutes } from './bash.ts'
import { controlRoutes } from './control.ts'
import { conversationRoutes } from './conversations.ts'
import { eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { gitRoutes } from './git.ts'
import { profileRoutes } from './profiles.ts'
import { sandboxRoutes } from './sandboxes.ts'
import { serverRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'
import { workspaceRoutes } from './workspace.ts'
import { workspacesRoutes } from './workspaces.ts'

/** Every route there is. The order matters where two patterns match one path: the literal one stands first. */
export const routes = {
  ...serverRoutes,
  ...conversationRoutes,
  ...controlRoutes,
  ...eventRoutes,
  ...settingsRoutes,
  ...profileRoutes,
  ...bashRoutes,
  ...gitRoutes,
  ...fileRoutes,
  ...workspaceRoutes,
  ...workspacesRoutes,
  ...sandboxRoutes,
}
export type Routes = typeof routes
