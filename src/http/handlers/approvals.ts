import type { approvalRoutes } from '../../api/routes/approvals.ts'
import type { Approvals } from '../../settings/approvals.ts'
import type { Handlers } from '../server.ts'

export const approvalHandlers = (approvals: Approvals): Handlers<typeof approvalRoutes> => ({
  listApprovals: () => approvals.list(),
  approve: ({ params, body }) => approvals.approve(params.sha256, body?.what ?? null),
  withdrawApproval: async ({ params }) => {
    await approvals.withdraw(params.sha256)
    return { success: true }
  },
})
