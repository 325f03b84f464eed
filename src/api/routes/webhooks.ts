import * as z from 'zod'
import { Success } from '../common.ts'
import { route } from '../route.ts'
import { WebhookInfo } from '../webhooks.ts'

const tag = 'Webhooks'
const webhook = z.object({ webhook_id: z.string() })

export const webhookRoutes = {
  listWebhooks: route({
    method: 'GET',
    path: '/api/v1/webhooks',
    tag,
    summary: 'Whom the configuration wants told what happens, and what they have not taken yet',
    access: 'caller',
    responses: { 200: z.array(WebhookInfo) },
  }),
  pauseWebhook: route({
    method: 'POST',
    path: '/api/v1/webhooks/{webhook_id}/pause',
    tag,
    summary: 'Tell a webhook nothing until it is resumed; nothing is lost meanwhile',
    access: 'key',
    params: webhook,
    responses: { 200: Success },
    errors: ['webhook_not_found'],
  }),
  resumeWebhook: route({
    method: 'POST',
    path: '/api/v1/webhooks/{webhook_id}/resume',
    tag,
    summary: 'Try everything anew, now: also after it was suspended',
    access: 'key',
    params: webhook,
    responses: { 200: Success },
    errors: ['webhook_not_found'],
  }),
}
