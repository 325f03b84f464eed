import * as z from 'zod'
import { route } from '../route.ts'
import { UserInfo } from '../users.ts'

export const userRoutes = {
  getCurrentUser: route({
    method: 'GET',
    path: '/api/v1/users/me',
    tag: 'Users',
    summary: 'Read the settings of the user',
    access: 'caller',
    confined: true,
    query: z.object({
      expose_secrets: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether secrets are readable: for the key, or that of a running sandbox' }),
    }),
    responses: { 200: UserInfo },
    errors: ['unauthorized'],
  }),
}
