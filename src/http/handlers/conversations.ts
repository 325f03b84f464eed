import { type ConversationSortOrder, tagOf } from '../../api/conversations.ts'
import { fault } from '../../api/errors.ts'
import { conversationRoutes } from '../../api/routes/conversations.ts'
import type { Control } from '../../conversation/control.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { Imports } from '../../conversation/import.ts'
import type { Auth } from '../auth.ts'
import { readFile } from '../body.ts'
import { Reply } from '../reply.ts'
import type { Handlers } from '../server.ts'

export const orderOf = ({ sort_order }: { sort_order: ConversationSortOrder }) => ({
  order: sort_order.startsWith('CREATED_AT') ? ('created' as const) : ('updated' as const),
  descending: sort_order.endsWith('_DESC'),
})

export const conversationHandlers = (
  conversations: Conversations,
  control: Control,
  imports: Imports,
  auth: Auth,
): Handlers<typeof conversationRoutes> => ({
  startConversation: async ({ body, query }, call) => {
    if (body.egress && call.standing !== 'key') throw fault('unauthorized')
    // To those confined to a sandbox, nothing exists that the user keeps.
    if (body.agent_profile_id && call.standing === 'sandbox')
      throw fault('agent_profile_not_found', body.agent_profile_id)
    const isKey = (candidate: string | undefined) =>
      call.standing === 'key' || (candidate !== undefined && auth.isKey(candidate))
    const { info, created } = await conversations.start(body, isKey, query.include_skills, call.scope)
    return new Reply(created ? 201 : 200, info)
  },
  importConversation: async (_, { incoming, scope }) => {
    const { file, bodyLimit } = conversationRoutes.importConversation
    const id = await imports.take(() => readFile(incoming, file, bodyLimit), scope)
    return conversations.get(id, false, scope)
  },
  searchConversations: ({ query }, { scope }) => {
    const { page_id, limit, status, sort_order, tag, include_skills } = query
    return conversations.search(
      {
        ...orderOf({ sort_order }),
        limit,
        pageId: page_id,
        tags: tag.map(tagOf),
        ...(status && { status }),
        ...(scope && { sandbox: scope }),
      },
      include_skills,
    )
  },
  countConversations: ({ query }, { scope }) => conversations.count(query.status ?? undefined, scope),
  batchConversations: ({ query }, { scope }) => conversations.batch(query.ids, query.include_skills, scope),
  getConversation: ({ params, query }, { scope }) =>
    conversations.get(params.conversation_id, query.include_skills, scope),
  updateConversation: async ({ params, body }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    await conversations.describe(params.conversation_id, body)
    if (body.max_budget_per_task != null) await control.setBudget(params.conversation_id, body.max_budget_per_task)
    return { success: true }
  },
  deleteConversation: async ({ params }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    await conversations.delete(params.conversation_id)
    return { success: true }
  },
  runConversation: async ({ params }, { scope }) => {
    await conversations.record(params.conversation_id, scope)
    await control.run(params.conversation_id)
    return { success: true }
  },
})
