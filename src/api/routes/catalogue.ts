import * as z from 'zod'
import { LLMModelPage, ModelsResponse, ProviderPage, ProvidersResponse, VerifiedModelsResponse } from '../catalogue.ts'
import { orNull, textOrNull } from '../common.ts'
import { route } from '../route.ts'
import { pageId } from './shared.ts'

const tag = 'Catalogue'
const names = z.array(z.string())
const query = z.object({
  page_id: pageId,
  limit: z.int().min(1).max(100).default(50),
  query: textOrNull.meta({ description: 'A part of the name, in any case' }),
  verified__eq: orNull(z.boolean()),
})

export const catalogueRoutes = {
  searchModels: route({
    method: 'GET',
    path: '/api/v1/config/models/search',
    tag,
    summary: 'Find models by name; verified ones come first',
    access: 'caller',
    query: query.extend({ provider__eq: textOrNull }),
    responses: { 200: LLMModelPage },
  }),
  searchProviders: route({
    method: 'GET',
    path: '/api/v1/config/providers/search',
    tag,
    summary: 'Find providers of models by name; verified ones come first',
    access: 'caller',
    query,
    responses: { 200: ProviderPage },
  }),
  listProviders: route({
    method: 'GET',
    path: '/api/llm/providers',
    tag,
    summary: 'List the providers of models',
    access: 'caller',
    confined: true,
    responses: { 200: ProvidersResponse },
  }),
  listModels: route({
    method: 'GET',
    path: '/api/llm/models',
    tag,
    summary: 'List models as an order names them, of one provider or of all',
    access: 'caller',
    confined: true,
    query: z.object({ provider: textOrNull }),
    responses: { 200: ModelsResponse },
  }),
  listVerifiedModels: route({
    method: 'GET',
    path: '/api/llm/models/verified',
    tag,
    summary: 'List the verified models of each provider',
    access: 'caller',
    confined: true,
    responses: { 200: VerifiedModelsResponse },
  }),
  listModelOptions: route({
    method: 'GET',
    path: '/api/options/models',
    tag,
    summary: 'List models as an order names them, by name',
    access: 'caller',
    responses: { 200: names },
  }),
  listAgentOptions: route({
    method: 'GET',
    path: '/api/options/agents',
    tag,
    summary: 'List the agents that settings can name',
    access: 'caller',
    responses: { 200: names },
  }),
  listAnalyzerOptions: route({
    method: 'GET',
    path: '/api/options/security-analyzers',
    tag,
    summary: 'List the security analyzers that settings can name',
    access: 'caller',
    responses: { 200: names },
  }),
}
