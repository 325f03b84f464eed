import type { vscodeRoutes } from '../../api/routes/vscode.ts'
import type { Sandboxes } from '../../sandbox/sandboxes.ts'
import type { VsCode } from '../../sandbox/vscode.ts'
import { askerOf } from '../asker.ts'
import type { Handlers } from '../server.ts'

export interface VscodeHandlersParts {
  vscode: VsCode
  sandboxes: Sandboxes
  portsDomain: string | undefined
}

/** What clients call the working directory when they know no better. */
const UNSAID = 'workspace'

export const vscodeHandlers = ({
  vscode,
  sandboxes,
  portsDomain,
}: VscodeHandlersParts): Handlers<typeof vscodeRoutes> => ({
  getVscodeUrl: async ({ query: { workspace_dir } }, call) => {
    const folder = workspace_dir === UNSAID ? undefined : workspace_dir
    const { sandbox, port, search } = await vscode.open(call.scope, folder)
    return { url: `${sandboxes.portUrl(sandbox, port, askerOf(call, portsDomain))}/?${search}` }
  },
  getVscodeStatus: (_, { scope }) => vscode.status(scope),
})
