import * as z from 'zod'
import { orNull } from './common.ts'

const path = z.string().min(1).max(4096)
const item = { id: path, name: z.string().min(1).max(256), path }

/** Folders of each kind that are remembered: far more than a picker can show. */
export const MAX_WORKSPACES = 1000

/** A folder that a person picked to work in. Names are written as the pickers of published clients write them. */
export const WorkspaceItem = z
  .object({ ...item, parentPath: orNull(z.string().max(4096)) })
  .meta({ id: 'WorkspaceItem' })
export type WorkspaceItem = z.output<typeof WorkspaceItem>

/** A folder whose subfolders are offered as workspaces. */
export const WorkspaceParentItem = z.object(item).meta({ id: 'WorkspaceParentItem' })
export type WorkspaceParentItem = z.output<typeof WorkspaceParentItem>

export const WorkspacesListResponse = z
  .object({
    workspaces: z.array(WorkspaceItem).default([]),
    workspaceParents: z.array(WorkspaceParentItem).default([]),
  })
  .meta({ id: 'WorkspacesListResponse' })
export type WorkspacesListResponse = z.output<typeof WorkspacesListResponse>

export const AddWorkspacesRequest = z
  .object({ workspaces: z.array(WorkspaceItem).max(MAX_WORKSPACES) })
  .meta({ id: 'AddWorkspacesRequest' })
export const AddWorkspaceParentsRequest = z
  .object({ parents: z.array(WorkspaceParentItem).max(MAX_WORKSPACES) })
  .meta({ id: 'AddWorkspaceParentsRequest' })

export const DeleteResponse = z.object({ deleted: z.boolean().default(true) }).meta({ id: 'DeleteResponse' })
