import type { settingsRoutes } from '../../api/routes/settings.ts'
import type { LlmProfiles } from '../../settings/profiles.ts'
import { agentSchema, conversationSchema } from '../../settings/schema.ts'
import type { SettingsService } from '../../settings/settings.ts'
import { Plain } from '../reply.ts'
import type { Handlers } from '../server.ts'

export const settingsHandlers = (
  settings: SettingsService,
  profiles: LlmProfiles,
): Handlers<typeof settingsRoutes> => ({
  storeSettings: ({ body }) => settings.store(body),
  getSettings: ({ headers }) => settings.get(headers['x-expose-secrets']),
  updateSettings: async ({ body }) =>
    settings.update(body, body.active_profile ? await profiles.select(body.active_profile) : undefined),
  createMcpServer: ({ params, body }) => settings.createMcpServer(params.settings_key, body),
  updateMcpServer: ({ params, body }) => settings.updateMcpServer(params.settings_key, body),
  deleteMcpServer: ({ params }) => settings.deleteMcpServer(params.settings_key),
  getAgentSchema: () => agentSchema(),
  getConversationSchema: () => conversationSchema(),
  listSecrets: async () => ({ secrets: await settings.secrets.custom() }),
  putSecret: ({ body }) => settings.secrets.put(body),
  getSecretValue: async ({ params }) =>
    new Plain('text/plain; charset=utf-8', await settings.secrets.value(params.name), { 'Cache-Control': 'no-store' }),
  deleteSecret: ({ params }) => settings.secrets.delete(params.name),
})
