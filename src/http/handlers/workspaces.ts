import type { workspacesRoutes } from '../../api/routes/workspaces.ts'
import type { Workspaces } from '../../workspaces/workspaces.ts'
import type { Handlers } from '../server.ts'

export const workspacesHandlers = (workspaces: Workspaces): Handlers<typeof workspacesRoutes> => ({
  listWorkspaces: () => workspaces.list(),
  addWorkspaces: ({ body }) => workspaces.add(body.workspaces),
  deleteWorkspace: async ({ query }) => {
    await workspaces.remove(query.path)
    return { deleted: true }
  },
  addWorkspaceParents: ({ body }) => workspaces.addParents(body.parents),
  deleteWorkspaceParent: async ({ query }) => {
    await workspaces.removeParent(query.path)
    return { deleted: true }
  },
})
