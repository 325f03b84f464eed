import type { providerConnectionRoutes } from '../../api/routes/provider-connections.ts'
import type { ProviderConnections } from '../../settings/provider-connections.ts'
import type { Handlers } from '../server.ts'

export const providerConnectionHandlers = (
  connections: ProviderConnections,
): Handlers<typeof providerConnectionRoutes> => ({
  listProviderConnections: () => connections.list(),
  createProviderConnection: ({ body }) => connections.create(body),
  updateProviderConnection: ({ params, body }) => connections.update(params.connection_id, body),
  deleteProviderConnection: ({ params }) => connections.delete(params.connection_id),
})
