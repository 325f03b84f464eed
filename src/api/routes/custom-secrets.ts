import * as z from 'zod'
import { route } from '../route.ts'
import { StoredResponse } from '../settings.ts'
import { CustomSecretsResponse, SecretCreateRequest, SecretPage, SecretUpdateRequest } from '../user-secrets.ts'
import { limit, pageId } from './shared.ts'

const tag = 'Secrets'
const access = 'key'
const body = SecretCreateRequest

const change = {
  tag,
  summary: 'Rename or describe a secret; its value stays',
  access,
  method: 'PUT',
  params: z.object({ secret_id: z.string() }),
  body: SecretUpdateRequest,
  responses: { 200: StoredResponse },
  errors: ['secret_not_found', 'secret_exists'],
} as const

const remove = {
  tag,
  summary: 'Delete a secret',
  access,
  method: 'DELETE',
  params: z.object({ secret_id: z.string() }),
  responses: { 200: StoredResponse },
  errors: ['secret_not_found'],
} as const

export const customSecretRoutes = {
  searchCustomSecrets: route({
    method: 'GET',
    path: '/api/v1/secrets/search',
    tag,
    summary: "List the user's own secrets by name, without values",
    access,
    query: z.object({ name__contains: z.string().nullish(), page_id: pageId, limit }),
    responses: { 200: SecretPage },
  }),
  saveCustomSecret: route({
    method: 'POST',
    path: '/api/v1/secrets',
    tag,
    summary: 'Store a secret, in place of one of that name',
    access,
    body,
    responses: { 201: StoredResponse },
  }),
  changeCustomSecret: route({ ...change, path: '/api/v1/secrets/{secret_id}' }),
  removeCustomSecret: route({ ...remove, path: '/api/v1/secrets/{secret_id}' }),

  listCustomSecrets: route({
    method: 'GET',
    path: '/api/secrets',
    tag,
    summary: "List the user's own secrets, without values",
    access,
    responses: { 200: CustomSecretsResponse },
  }),
  createCustomSecret: route({
    method: 'POST',
    path: '/api/secrets',
    tag,
    summary: 'Store a new secret',
    access,
    body,
    responses: { 201: StoredResponse },
    errors: ['secret_exists'],
  }),
  changeCustomSecretV0: route({ ...change, path: '/api/secrets/{secret_id}' }),
  removeCustomSecretV0: route({ ...remove, path: '/api/secrets/{secret_id}' }),
}
