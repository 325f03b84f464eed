import * as z from 'zod'
import {
  AppSettingsResponse,
  LegacyKeysResponse,
  StoreAppSettingsRequest,
  TestMcpServerRequest,
  TestMcpServerResponse,
} from '../app-settings.ts'
import { route } from '../route.ts'
import { SettingsSchema, StoredResponse } from '../settings.ts'

const tag = 'Settings'

export const appSettingsRoutes = {
  getAppSettings: route({
    method: 'GET',
    path: '/api/v1/settings',
    tag,
    summary: 'Read the settings, secrets masked',
    access: 'caller',
    responses: { 200: AppSettingsResponse },
  }),
  storeAppSettings: route({
    method: 'POST',
    path: '/api/v1/settings',
    tag,
    summary: 'Change some settings',
    access: 'key',
    body: StoreAppSettingsRequest,
    responses: { 200: StoredResponse, 422: LegacyKeysResponse },
    errors: ['conflict'],
  }),
  getAppAgentSchema: route({
    method: 'GET',
    path: '/api/v1/settings/agent-schema',
    tag,
    summary: 'Describe the agent settings, for a form',
    access: 'caller',
    responses: { 200: SettingsSchema },
  }),
  getAppConversationSchema: route({
    method: 'GET',
    path: '/api/v1/settings/conversation-schema',
    tag,
    summary: 'Describe the conversation settings, for a form',
    access: 'caller',
    responses: { 200: SettingsSchema },
  }),
  testMcpServer: route({
    method: 'POST',
    path: '/api/v1/settings/mcp/{settings_key}/test',
    tag,
    summary: 'Find out whether a stored MCP server can be used',
    access: 'key',
    params: z.object({ settings_key: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/) }),
    body: TestMcpServerRequest,
    bodyOptional: true,
    responses: { 200: TestMcpServerResponse },
    errors: ['mcp_server_not_found'],
  }),
}
