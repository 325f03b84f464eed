import { fault } from '../../api/errors.ts'
import type { acpRoutes } from '../../api/routes/acp.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { Handlers } from '../server.ts'

export const acpHandlers = (conversations: Conversations): Handlers<typeof acpRoutes> => ({
  switchAcpModel: async ({ params }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    throw fault('not_acp')
  },
})
