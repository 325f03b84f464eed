import * as z from 'zod'
import { uuid } from '../common.ts'
import { ChatCompletion, OpenAIChatCompletionRequest, OpenAIModelListResponse } from '../completions.ts'
import { route } from '../route.ts'
import { LARGE_BODY } from './shared.ts'

const base = { tag: 'OpenAI Compatibility', access: 'caller' } as const

export const completionRoutes = {
  listChatModels: route({
    ...base,
    method: 'GET',
    path: '/v1/models',
    summary: 'List what a chat completion can name: the agent, with the model of each profile',
    responses: { 200: OpenAIModelListResponse },
  }),
  createChatCompletion: route({
    ...base,
    method: 'POST',
    path: '/v1/chat/completions',
    summary:
      'Have the agent answer the last message of the user; the header of the answer, sent back, goes on with the same conversation',
    headers: z.object({ 'x-openhands-serverconversation-id': uuid().optional() }),
    body: OpenAIChatCompletionRequest,
    bodyLimit: LARGE_BODY,
    responses: { 200: ChatCompletion },
    errors: [
      'chat_model_not_found',
      'conversation_not_found',
      'conversation_running',
      'agent_waits',
      'agent_failed',
      'completion_limit',
      'completion_timeout',
    ],
  }),
}
