import type { customSecretRoutes } from '../../api/routes/custom-secrets.ts'
import type { SecretCreateRequest, SecretUpdateRequest } from '../../api/user-secrets.ts'
import type { StoredSecrets } from '../../settings/secrets.ts'
import type { Handlers } from '../server.ts'
import { withOlderErrors } from './older-errors.ts'

export function customSecretHandlers(secrets: StoredSecrets): Handlers<typeof customSecretRoutes> {
  const create = async (request: SecretCreateRequest) => {
    await secrets.create(request)
    return { message: 'Secret created successfully' }
  }
  const change = async (id: string, request: SecretUpdateRequest) => {
    await secrets.change(id, request)
    return { message: 'Secret updated successfully' }
  }
  const remove = async (id: string) => {
    await secrets.delete(id)
    return { message: 'Secret deleted successfully' }
  }
  return {
    searchCustomSecrets: ({ query }) => secrets.search(query),
    saveCustomSecret: async ({ body }) => {
      await secrets.put(body)
      return { message: 'Secret saved successfully' }
    },
    changeCustomSecret: ({ params, body }) => change(params.secret_id, body),
    removeCustomSecret: ({ params }) => remove(params.secret_id),
    listCustomSecrets: async () => ({ custom_secrets: await secrets.custom() }),
    createCustomSecret: ({ body }) => withOlderErrors(create(body)),
    changeCustomSecretV0: ({ params, body }) => withOlderErrors(change(params.secret_id, body)),
    removeCustomSecretV0: ({ params }) => withOlderErrors(remove(params.secret_id)),
  }
}
