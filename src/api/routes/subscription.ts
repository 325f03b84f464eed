import { route } from '../route.ts'
import {
  SubscriptionDevicePollRequest,
  SubscriptionDeviceStartResponse,
  SubscriptionModelsResponse,
  SubscriptionStatusResponse,
} from '../subscription.ts'

const base = { tag: 'LLM', access: 'key' } as const
const path = '/api/llm/subscription/openai'

export const subscriptionRoutes = {
  listSubscriptionModels: route({
    ...base,
    method: 'GET',
    path: `${path}/models`,
    summary: 'List the models that are thought with by way of a subscription: none, an API key is needed for all',
    access: 'caller',
    responses: { 200: SubscriptionModelsResponse },
  }),
  subscriptionStatus: route({
    ...base,
    method: 'GET',
    path: `${path}/status`,
    summary: 'Whether somebody has logged in with a subscription',
    responses: { 200: SubscriptionStatusResponse },
  }),
  startSubscriptionLogin: route({
    ...base,
    method: 'POST',
    path: `${path}/device/start`,
    summary: 'Begin a login: a person enters user_code at verification_uri',
    responses: { 200: SubscriptionDeviceStartResponse },
    errors: ['subscription_unavailable', 'subscription_failed'],
  }),
  pollSubscriptionLogin: route({
    ...base,
    method: 'POST',
    path: `${path}/device/poll`,
    summary: 'Ask whether the person has logged in yet',
    body: SubscriptionDevicePollRequest,
    responses: { 200: SubscriptionStatusResponse },
    errors: ['subscription_login_not_found', 'subscription_failed'],
  }),
  logoutSubscription: route({
    ...base,
    method: 'POST',
    path: `${path}/logout`,
    summary: 'Forget the login',
    responses: { 200: SubscriptionStatusResponse },
  }),
}
