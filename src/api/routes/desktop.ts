import * as z from 'zod'
import { textOrNull } from '../common.ts'
import { route } from '../route.ts'

export const desktopRoutes = {
  getDesktopUrl: route({
    method: 'GET',
    path: '/api/desktop/url',
    tag: 'Desktop',
    summary: 'Sandboxes have no desktop, and this says so',
    access: 'caller',
    confined: true,
    query: z.object({ base_url: textOrNull }),
    responses: { 200: z.object({ url: z.string().nullable() }).meta({ id: 'DesktopUrlResponse' }) },
    errors: ['desktop_unavailable'],
  }),
}
