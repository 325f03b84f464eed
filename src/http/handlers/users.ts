import { fault } from '../../api/errors.ts'
import type { userRoutes } from '../../api/routes/users.ts'
import type { Sandboxes } from '../../sandbox/sandboxes.ts'
import type { Users } from '../../settings/users.ts'
import { Reply } from '../reply.ts'
import type { Call, Handlers } from '../server.ts'

export function userHandlers(users: Users, sandboxes: Sandboxes): Handlers<typeof userRoutes> {
  /** A sandbox's key is told to clients alone, and never inside it: its bearer is somebody who may know. */
  const mayKnow = ({ standing, scope }: Call) =>
    standing === 'key' || (standing === 'sandbox' && scope !== undefined && sandboxes.isRunning(scope))
  return {
    getCurrentUser: async ({ query }, call) => {
      if (!query.expose_secrets) return users.me()
      if (!mayKnow(call)) throw fault('unauthorized')
      return new Reply(200, await users.exposed(), { 'Cache-Control': 'no-store' })
    },
  }
}
