import * as z from 'zod'
import {
  ProviderConnectionCreateRequest,
  ProviderConnectionResponse,
  ProviderConnectionUpdateRequest,
} from '../provider-connections.ts'
import { route } from '../route.ts'

const tag = 'LLM Provider Connections'
const identified = z.object({ connection_id: z.string() })

export const providerConnectionRoutes = {
  listProviderConnections: route({
    method: 'GET',
    path: '/api/llm/provider-connections',
    tag,
    summary: 'List the connections that models may take their key and address from',
    access: 'caller',
    responses: { 200: z.array(ProviderConnectionResponse) },
  }),
  createProviderConnection: route({
    method: 'POST',
    path: '/api/llm/provider-connections',
    tag,
    summary: 'Store a connection; a model names it as `provider_connection_id`',
    access: 'key',
    body: ProviderConnectionCreateRequest,
    responses: { 201: ProviderConnectionResponse },
    errors: ['provider_connection_limit'],
  }),
  updateProviderConnection: route({
    method: 'PATCH',
    path: '/api/llm/provider-connections/{connection_id}',
    tag,
    summary: 'Change a connection; models that name it use the change from their next question on',
    access: 'key',
    params: identified,
    body: ProviderConnectionUpdateRequest,
    responses: { 200: ProviderConnectionResponse },
    errors: ['provider_connection_not_found'],
  }),
  deleteProviderConnection: route({
    method: 'DELETE',
    path: '/api/llm/provider-connections/{connection_id}',
    tag,
    summary: 'Delete a connection that no LLM profile and no setting names',
    access: 'key',
    params: identified,
    responses: { 200: ProviderConnectionResponse },
    errors: ['provider_connection_not_found', 'provider_connection_used'],
  }),
}
