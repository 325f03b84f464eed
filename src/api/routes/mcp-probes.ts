import * as z from 'zod'
import {
  MCPOAuthCallbackRequest,
  MCPOAuthStartResponse,
  MCPOAuthStatusResponse,
  MCPTestRequest,
  MCPTestResponse,
} from '../mcp-probes.ts'
import { route } from '../route.ts'

const base = { tag: 'MCP', access: 'caller', confined: true } as const
const params = z.object({ job_id: z.string() })

export const mcpProbeRoutes = {
  testMcp: route({
    ...base,
    method: 'POST',
    path: '/api/mcp/test',
    summary: 'Find out whether an MCP server can be used, without storing it; that it cannot is an answer too',
    body: MCPTestRequest,
    responses: { 200: MCPTestResponse },
  }),
  startMcpLogin: route({
    ...base,
    method: 'POST',
    path: '/api/mcp/oauth/start',
    summary: 'Begin a login at an MCP server; a person has to go on at authorization_url',
    body: MCPTestRequest,
    responses: { 200: MCPOAuthStartResponse },
    errors: ['bad_request'],
  }),
  mcpLoginStatus: route({
    ...base,
    method: 'GET',
    path: '/api/mcp/oauth/status/{job_id}',
    summary: 'How far a login has come; it is remembered for a quarter of an hour',
    params,
    responses: { 200: MCPOAuthStatusResponse },
    errors: ['mcp_login_not_found'],
  }),
  finishMcpLogin: route({
    ...base,
    method: 'POST',
    path: '/api/mcp/oauth/callback/{job_id}',
    summary: 'Hand over the address that the browser was sent back to, where it could not be opened',
    params,
    body: MCPOAuthCallbackRequest,
    responses: { 200: MCPOAuthStatusResponse },
    errors: ['mcp_login_not_found', 'mcp_login_over', 'bad_request'],
  }),
}
