import * as z from 'zod'
import { MCPServer, MCPServerPatch } from '../mcp.ts'
import { route } from '../route.ts'
import { Settings, SettingsResponse, SettingsSchema, SettingsUpdateRequest, StoredResponse } from '../settings.ts'
import { SecretCreateRequest, SecretItemResponse, SecretName, SecretsListResponse } from '../user-secrets.ts'

const tag = 'Settings'

/** `__proto__` is no name for a map entry. */
const serverKey = z.object({
  settings_key: z
    .string()
    .min(1)
    .max(128)
    .regex(/^(?!__proto__$)/),
})
const secretName = z.object({ name: SecretName })

export const settingsRoutes = {
  storeSettings: route({
    method: 'POST',
    path: '/api/settings',
    tag,
    summary: 'Store settings',
    access: 'key',
    body: Settings,
    responses: { 200: StoredResponse },
    errors: ['conflict'],
  }),
  getSettings: route({
    method: 'GET',
    path: '/api/settings',
    tag,
    summary: 'Read the settings',
    access: 'expose',
    headers: z.object({
      'x-expose-secrets': z
        .string()
        .optional()
        .meta({ description: '`encrypted` or `plaintext`; without it secrets are masked' }),
    }),
    responses: { 200: SettingsResponse },
    errors: ['bad_request'],
  }),
  updateSettings: route({
    method: 'PATCH',
    path: '/api/settings',
    tag,
    summary: 'Change some settings',
    access: 'key',
    body: SettingsUpdateRequest,
    responses: { 200: SettingsResponse },
    errors: ['bad_request', 'llm_profile_not_found', 'conflict'],
  }),
  createMcpServer: route({
    method: 'POST',
    path: '/api/settings/mcp/{settings_key}',
    tag,
    summary: 'Add an MCP server',
    access: 'key',
    params: serverKey,
    body: MCPServer,
    responses: { 201: SettingsResponse },
    errors: ['mcp_server_exists', 'conflict'],
  }),
  updateMcpServer: route({
    method: 'PATCH',
    path: '/api/settings/mcp/{settings_key}',
    tag,
    summary: 'Change an MCP server',
    access: 'key',
    params: serverKey,
    body: MCPServerPatch,
    responses: { 200: SettingsResponse },
    errors: ['mcp_server_not_found', 'conflict'],
  }),
  deleteMcpServer: route({
    method: 'DELETE',
    path: '/api/settings/mcp/{settings_key}',
    tag,
    summary: 'Remove an MCP server',
    access: 'key',
    params: serverKey,
    responses: { 200: SettingsResponse },
    errors: ['mcp_server_not_found', 'conflict'],
  }),
  getAgentSchema: route({
    method: 'GET',
    path: '/api/settings/agent-schema',
    tag,
    summary: 'Describe the agent settings, for a form',
    access: 'caller',
    responses: { 200: SettingsSchema },
  }),
  getConversationSchema: route({
    method: 'GET',
    path: '/api/settings/conversation-schema',
    tag,
    summary: 'Describe the conversation settings, for a form',
    access: 'caller',
    responses: { 200: SettingsSchema },
  }),
  listSecrets: route({
    method: 'GET',
    path: '/api/settings/secrets',
    tag,
    summary: 'List the stored secrets, without values',
    access: 'key',
    responses: { 200: SecretsListResponse },
  }),
  putSecret: route({
    method: 'PUT',
    path: '/api/settings/secrets',
    tag,
    summary: 'Store a secret',
    access: 'key',
    body: SecretCreateRequest,
    responses: { 200: SecretItemResponse },
    errors: ['conflict'],
  }),
  getSecretValue: route({
    method: 'GET',
    path: '/api/settings/secrets/{name}',
    tag,
    summary: 'Read the value of a secret',
    access: 'key',
    params: secretName,
    responses: { 200: { raw: 'text/plain' } },
    errors: ['secret_not_found'],
  }),
  deleteSecret: route({
    method: 'DELETE',
    path: '/api/settings/secrets/{name}',
    tag,
    summary: 'Delete a secret',
    access: 'key',
    params: secretName,
    responses: { 200: z.record(z.string(), z.boolean()) },
    errors: ['secret_not_found', 'conflict'],
  }),
}
