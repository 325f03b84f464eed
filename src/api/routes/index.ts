import { conversationRoutes } from './conversations.ts'
import { eventRoutes } from './events.ts'
import { serverRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'

/** Every route there is. The order matters where two patterns match one path: the literal one stands first. */
export const routes = { ...serverRoutes, ...conversationRoutes, ...eventRoutes, ...settingsRoutes }
export type Routes = typeof routes
