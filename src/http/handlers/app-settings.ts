import { LEGACY_KEYS, TestMcpServerRequest } from '../../api/app-settings.ts'
import type { MCPServer } from '../../api/mcp.ts'
import type { appSettingsRoutes } from '../../api/routes/app-settings.ts'
import type { AppProfiles } from '../../settings/app-profiles.ts'
import { agentSchema, conversationSchema } from '../../settings/schema.ts'
import type { SettingsService } from '../../settings/settings.ts'
import { Reply } from '../reply.ts'
import type { Handlers } from '../server.ts'

export interface AppSettingsHandlersParts {
  settings: SettingsService
  profiles: AppProfiles
  /** Whether a server can be used. Takes it with its secrets opened. */
  tryMcpServer(name: string, server: MCPServer, timeoutMs: number): Promise<boolean>
}

const LEGACY = 'Use *_diff nested settings payloads instead of legacy keys'

export const appSettingsHandlers = ({
  settings,
  profiles,
  tryMcpServer,
}: AppSettingsHandlersParts): Handlers<typeof appSettingsRoutes> => ({
  getAppSettings: async () => ({ ...(await settings.getApp()), llm_profiles: await profiles.shown() }),
  storeAppSettings: ({ body: { agent_settings, conversation_settings, ...change } }) => {
    const given = { agent_settings, conversation_settings }
    const keys = LEGACY_KEYS.filter(key => given[key] !== undefined)
    return keys.length > 0 ? new Reply(422, { detail: LEGACY, error: LEGACY, keys }) : settings.storeApp(change)
  },
  getAppAgentSchema: () => agentSchema(),
  getAppConversationSchema: () => conversationSchema(),
  testMcpServer: async ({ params: { settings_key }, body }) => {
    const { timeout } = body ?? TestMcpServerRequest.parse({})
    return { ok: await tryMcpServer(settings_key, await settings.mcpServer(settings_key), Math.ceil(timeout * 1_000)) }
  },
})
