import * as z from 'zod'
import { orNull, Success, uuid } from '../common.ts'
import {
  ConversationExecutionStatus,
  ConversationInfo,
  ConversationPage,
  ConversationSortOrder,
  StartConversationRequest,
  UpdateConversationRequest,
} from '../conversations.ts'
import { route } from '../route.ts'
import { LARGE_BODY, limit, pageId, params } from './shared.ts'

const tag = 'Conversations'
const include_skills = z.boolean().default(false)
const status = orNull(ConversationExecutionStatus)

export const conversationRoutes = {
  startConversation: route({
    method: 'POST',
    path: '/api/conversations',
    tag,
    summary: 'Start a conversation, or find the one that has this id',
    access: 'caller',
    confined: true,
    query: z.object({ include_skills }),
    body: StartConversationRequest,
    bodyLimit: LARGE_BODY,
    responses: { 201: ConversationInfo, 200: ConversationInfo },
    errors: ['agent_profile_not_found', 'package_not_fetched', 'package_invalid'],
  }),
  searchConversations: route({
    method: 'GET',
    path: '/api/conversations/search',
    tag,
    summary: 'List conversations',
    access: 'caller',
    confined: true,
    query: z.object({
      page_id: pageId,
      limit,
      status,
      sort_order: ConversationSortOrder.default('CREATED_AT_DESC'),
      include_skills,
    }),
    responses: { 200: ConversationPage },
  }),
  countConversations: route({
    method: 'GET',
    path: '/api/conversations/count',
    tag,
    summary: 'Count conversations',
    access: 'caller',
    confined: true,
    query: z.object({ status }),
    responses: { 200: z.int() },
  }),
  batchConversations: route({
    method: 'GET',
    path: '/api/conversations',
    tag,
    summary: 'Get several conversations; null for those that do not exist',
    access: 'caller',
    confined: true,
    query: z.object({ ids: z.array(uuid()).min(1).max(100), include_skills }),
    responses: { 200: z.array(ConversationInfo.nullable()) },
  }),
  getConversation: route({
    method: 'GET',
    path: '/api/conversations/{conversation_id}',
    tag,
    summary: 'Get a conversation',
    access: 'caller',
    confined: true,
    params,
    query: z.object({ include_skills }),
    responses: { 200: ConversationInfo },
    errors: ['conversation_not_found'],
  }),
  updateConversation: route({
    method: 'PATCH',
    path: '/api/conversations/{conversation_id}',
    tag,
    summary: 'Change title and tags',
    access: 'caller',
    confined: true,
    params,
    body: UpdateConversationRequest,
    responses: { 200: Success },
    errors: ['conversation_not_found'],
  }),
  deleteConversation: route({
    method: 'DELETE',
    path: '/api/conversations/{conversation_id}',
    tag,
    summary: 'Delete a conversation and its log',
    access: 'caller',
    confined: true,
    params,
    responses: { 200: Success },
    errors: ['conversation_not_found'],
  }),
  runConversation: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/run',
    tag,
    summary: 'Have the agent work on the conversation',
    access: 'caller',
    confined: true,
    params,
    responses: { 200: Success },
    errors: ['conversation_not_found', 'conversation_running'],
  }),
}
