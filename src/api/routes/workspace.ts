import * as z from 'zod'
import { uuid } from '../common.ts'
import { route } from '../route.ts'
import { params } from './shared.ts'

const conditions = z.object({
  range: z.string().optional(),
  'if-none-match': z.string().optional(),
  'if-range': z.string().optional(),
})

export const workspaceRoutes = {
  getWorkspace: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/workspace',
    tag: 'Workspace',
    summary: "Show the index.html of a conversation's workspace",
    access: 'workspace',
    confined: true,
    params,
    headers: conditions,
    responses: { 200: { raw: 'application/octet-stream' }, 206: { raw: 'application/octet-stream' } },
    errors: ['conversation_not_found', 'file_not_found', 'permission_denied'],
  }),
  getWorkspaceFile: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}/workspace/{file_path}',
    rest: true,
    tag: 'Workspace',
    summary: "Show a file of a conversation's workspace, or the index.html of a directory",
    access: 'workspace',
    confined: true,
    params: z.object({ conversation_id: uuid(), file_path: z.string() }),
    headers: conditions,
    responses: { 200: { raw: 'application/octet-stream' }, 206: { raw: 'application/octet-stream' } },
    errors: ['conversation_not_found', 'file_not_found', 'outside_workspace', 'permission_denied'],
  }),
  startWorkspaceSession: route({
    method: 'POST',
    path: '/api/auth/workspace-session',
    tag: 'Auth',
    summary: 'Get a cookie that reads the files of workspaces, and does nothing else',
    access: 'caller',
    confined: true,
    responses: { 204: null },
  }),
  endWorkspaceSession: route({
    method: 'DELETE',
    path: '/api/auth/workspace-session',
    tag: 'Auth',
    summary: 'Give that cookie back',
    access: 'caller',
    confined: true,
    responses: { 204: null },
  }),
}
