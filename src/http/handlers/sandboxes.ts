import { fault } from '../../api/errors.ts'
import type { sandboxRoutes } from '../../api/routes/sandboxes.ts'
import type { Lodgings } from '../../app-conversation/lodgings.ts'
import { listeners } from '../../sandbox/listeners.ts'
import type { Sandboxes } from '../../sandbox/sandboxes.ts'
import type { SettingsService } from '../../settings/settings.ts'
import { askerOf } from '../asker.ts'
import { Plain } from '../reply.ts'
import type { Call, Handlers } from '../server.ts'

export interface SandboxHandlersParts {
  sandboxes: Sandboxes
  lodgings: Lodgings
  settings: SettingsService
  /** The host name of which the sites of opened ports are a part; `localhost` unless configured. */
  portsDomain: string | undefined
}

export function sandboxHandlers({
  sandboxes,
  lodgings,
  settings,
  portsDomain,
}: SandboxHandlersParts): Handlers<typeof sandboxRoutes> {
  const asker = (call: Call) => askerOf(call, portsDomain)
  const success = async (done: Promise<void>) => {
    await done
    return { success: true }
  }
  /** Of the sandbox's own key only: which one it is was found out at the door. */
  const confined = (id: string, { scope }: Call) => {
    if (!sandboxes.has(id)) throw fault('sandbox_not_found')
    if (scope !== undefined && scope !== id) throw fault('forbidden', 'Session API key does not match sandbox')
    if (scope !== undefined && !sandboxes.isRunning(id)) throw fault('unauthorized')
  }
  return {
    searchSandboxes: ({ query }, call) => sandboxes.search(query, asker(call)),
    batchSandboxes: ({ query }, call) => sandboxes.batch(query.id, asker(call)),
    startSandbox: ({ query }, call) => sandboxes.start(query.sandbox_spec_id ?? undefined, asker(call)),
    pauseSandbox: ({ params }) => success(sandboxes.pause(params.sandbox_id)),
    resumeSandbox: ({ params }) => success(lodgings.resume(params.sandbox_id)),
    deleteSandbox: ({ params }) => success(sandboxes.delete(params.sandbox_id)),
    reportSandbox: ({ params }) => sandboxes.report(params.sandbox_id),
    listSandboxPorts: async ({ params }) => listeners(await sandboxes.reach(params.sandbox_id)),
    openSandboxPort: ({ params }, call) => ({ url: sandboxes.portUrl(params.sandbox_id, params.port, asker(call)) }),
    listSandboxSecrets: ({ params }, call) => {
      confined(params.sandbox_id, call)
      return settings.secrets.list()
    },
    readSandboxSecret: async ({ params }, call) => {
      confined(params.sandbox_id, call)
      return new Plain('text/plain; charset=utf-8', await settings.secrets.value(params.secret_name))
    },
    searchSandboxSpecs: ({ query }) => sandboxes.specs(query),
    batchSandboxSpecs: ({ query }) => sandboxes.batchSpecs(query.id),
  }
}
