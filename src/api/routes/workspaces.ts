import * as z from 'zod'
import { route } from '../route.ts'
import {
  AddWorkspaceParentsRequest,
  AddWorkspacesRequest,
  DeleteResponse,
  WorkspacesListResponse,
} from '../workspaces.ts'

const tag = 'Workspaces'
const path = z.object({ path: z.string() })

export const workspacesRoutes = {
  listWorkspaces: route({
    method: 'GET',
    path: '/api/workspaces',
    tag,
    summary: 'List the saved workspaces and workspace parents',
    access: 'caller',
    responses: { 200: WorkspacesListResponse },
    errors: ['workspaces_damaged'],
  }),
  addWorkspaces: route({
    method: 'POST',
    path: '/api/workspaces',
    tag,
    summary: 'Save workspaces; one that is saved already stays as it is',
    access: 'key',
    body: AddWorkspacesRequest,
    responses: { 200: WorkspacesListResponse },
    errors: ['conflict'],
  }),
  deleteWorkspace: route({
    method: 'DELETE',
    path: '/api/workspaces',
    tag,
    summary: 'Forget a workspace',
    access: 'caller',
    query: path,
    responses: { 200: DeleteResponse },
    errors: ['workspace_not_found', 'conflict'],
  }),
  addWorkspaceParents: route({
    method: 'POST',
    path: '/api/workspaces/parents',
    tag,
    summary: 'Save workspace parents; one that is saved already stays as it is',
    access: 'key',
    body: AddWorkspaceParentsRequest,
    responses: { 200: WorkspacesListResponse },
    errors: ['conflict'],
  }),
  deleteWorkspaceParent: route({
    method: 'DELETE',
    path: '/api/workspaces/parents',
    tag,
    summary: 'Forget a workspace parent',
    access: 'caller',
    query: path,
    responses: { 200: DeleteResponse },
    errors: ['workspace_parent_not_found', 'conflict'],
  }),
}
