import type { IncomingMessage } from 'node:http'
import { posix } from 'node:path'
import { fault } from '../../api/errors.ts'
import type { workspaceRoutes } from '../../api/routes/workspace.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import { Files } from '../../sandbox/files.ts'
import type { Reach } from '../../sandbox/sandbox.ts'
import { type Auth, isLoopback, WORKSPACE_COOKIE } from '../auth.ts'
import { fileReply } from '../file.ts'
import { Reply, SANDBOXED } from '../reply.ts'
import { withoutSandbox } from '../scope.ts'
import type { Call, Handlers } from '../server.ts'
import { typeOf } from '../types.ts'

const TEN_YEARS_SECONDS = 315_360_000

export function workspaceHandlers(
  reach: Reach,
  conversations: Conversations,
  auth: Auth,
): Handlers<typeof workspaceRoutes> {
  const show = async (id: string, relative: string, { scope, incoming }: Call) => {
    const record = await conversations.record(id, scope)
    const { workspace } = await conversations.get(id)
    const sandbox = await reach(record.sandbox ?? undefined)
    const root = posix.resolve(sandbox.workingDir, workspace.working_dir)
    const path = posix.resolve(root, relative)
    if (path !== root && !path.startsWith(root.replace(/\/?$/, '/'))) throw fault('outside_workspace')
    if (sandbox.roots) await new Files(sandbox).stat(root)
    const file = await new Files(sandbox, [root]).open(path, { index: true })
    return fileReply(file, incoming, typeOf(file.path), { 'Content-Security-Policy': SANDBOXED })
  }
  return {
    getWorkspace: ({ params }, call) => show(params.conversation_id, '', call),
    getWorkspaceFile: ({ params }, call) => show(params.conversation_id, params.file_path, call),
    startWorkspaceSession: (_, { incoming, scope }) =>
      new Reply(204, undefined, { 'Set-Cookie': cookie(incoming, auth.workspaceSession(scope), TEN_YEARS_SECONDS) }),
    endWorkspaceSession: (_, { incoming }) => new Reply(204, undefined, { 'Set-Cookie': cookie(incoming, '', 0) }),
  }
}

/** For frames on pages of other sites; browsers take such a cookie only where the connection is trusted. */
function cookie({ headers, url = '' }: IncomingMessage, value: string, maxAge: number): string {
  const host = String(headers['x-forwarded-host'] ?? headers.host ?? '').replace(/:\d+$/, '')
  const trusted =
    headers['x-forwarded-proto'] === 'https' || host === 'localhost' || isLoopback(host.replace(/[[\]]/g, ''))
  const reach = trusted ? 'SameSite=none; Secure; Partitioned' : 'SameSite=lax'
  const { prefix } = withoutSandbox(url)
  return `${WORKSPACE_COOKIE}=${value}; HttpOnly; Max-Age=${maxAge}; Path=${prefix}/api/conversations; ${reach}`
}
