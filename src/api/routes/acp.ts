import * as z from 'zod'
import { Success } from '../common.ts'
import { route } from '../route.ts'
import { params } from './shared.ts'

export const acpRoutes = {
  switchAcpModel: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/switch_acp_model',
    tag: 'Conversations',
    summary: 'For agents of other makers, which are not run here: refused, and switch_llm named instead',
    access: 'caller',
    confined: true,
    params,
    body: z.object({ model: z.string() }).meta({ id: 'SwitchACPModelRequest' }),
    responses: { 200: Success },
    errors: ['conversation_not_found', 'not_acp'],
  }),
}
