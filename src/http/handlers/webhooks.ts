import type { webhookRoutes } from '../../api/routes/webhooks.ts'
import type { Webhooks } from '../../webhooks/webhooks.ts'
import type { Handlers } from '../server.ts'

export const webhookHandlers = (webhooks: Webhooks): Handlers<typeof webhookRoutes> => ({
  listWebhooks: () => webhooks.list(),
  pauseWebhook: async ({ params }) => {
    await webhooks.pause(params.webhook_id)
    return { success: true }
  },
  resumeWebhook: async ({ params }) => {
    await webhooks.resume(params.webhook_id)
    return { success: true }
  },
})
