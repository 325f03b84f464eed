import * as z from 'zod'
import { Approval, ApprovalList, ApprovalRequest, Sha256 } from '../approvals.ts'
import { Success } from '../common.ts'
import { route } from '../route.ts'

const tag = 'Approvals'
const content = z.object({ sha256: Sha256 })

export const approvalRoutes = {
  listApprovals: route({
    method: 'GET',
    path: '/api/v1/approvals',
    tag,
    summary: 'List what was approved of what workspaces bring',
    access: 'key',
    responses: { 200: ApprovalList },
  }),
  approve: route({
    method: 'PUT',
    path: '/api/v1/approvals/{sha256}',
    tag,
    summary: 'Approve a file that a workspace brings, by the hash of its content',
    access: 'key',
    params: content,
    body: ApprovalRequest,
    bodyOptional: true,
    responses: { 200: Approval },
    errors: ['approval_limit', 'conflict'],
  }),
  withdrawApproval: route({
    method: 'DELETE',
    path: '/api/v1/approvals/{sha256}',
    tag,
    summary: 'Withdraw an approval',
    access: 'key',
    params: content,
    responses: { 200: Success },
    errors: ['approval_not_found', 'conflict'],
  }),
}
