import { route } from '../route.ts'
import { ConfigOptions, WebClientConfig } from '../web-client.ts'

const tag = 'Web Client'

export const webClientRoutes = {
  getWebClientConfig: route({
    method: 'GET',
    path: '/api/v1/web-client/config',
    tag,
    summary: 'What a page has to know before anybody has signed in',
    access: 'free',
    responses: { 200: WebClientConfig },
  }),
  getConfigOptions: route({
    method: 'GET',
    path: '/api/options/config',
    tag,
    summary: 'The same for pages of the flat generation',
    access: 'caller',
    responses: { 200: ConfigOptions },
  }),
}
