import * as z from 'zod'
import { textOrNull } from '../common.ts'
import { route } from '../route.ts'
import { VSCodeStatus, VSCodeUrlResponse } from '../vscode.ts'

const base = { tag: 'VSCode', access: 'caller', confined: true } as const

export const vscodeRoutes = {
  getVscodeUrl: route({
    ...base,
    method: 'GET',
    path: '/api/vscode/url',
    summary: 'Start the editor in the sandbox unless it runs, and tell its address, which is all it takes to open it',
    query: z.object({
      base_url: textOrNull.meta({ description: 'Taken, and not used: the editor is reached as a port of its sandbox' }),
      workspace_dir: z.string().default('workspace'),
    }),
    responses: { 200: VSCodeUrlResponse },
    errors: ['vscode_unavailable'],
  }),
  getVscodeStatus: route({
    ...base,
    method: 'GET',
    path: '/api/vscode/status',
    summary: 'Whether the sandbox has an editor, and whether it runs',
    responses: { 200: VSCodeStatus },
  }),
}
