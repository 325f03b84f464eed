import type { subscriptionRoutes } from '../../api/routes/subscription.ts'
import type { Subscription } from '../../settings/subscription.ts'
import type { Handlers } from '../server.ts'

export const subscriptionHandlers = (subscription: Subscription): Handlers<typeof subscriptionRoutes> => ({
  listSubscriptionModels: () => subscription.models(),
  subscriptionStatus: () => subscription.status(),
  startSubscriptionLogin: () => subscription.start(),
  pollSubscriptionLogin: ({ body }) => subscription.poll(body.device_code),
  logoutSubscription: () => subscription.logout(),
})
