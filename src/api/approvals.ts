import * as z from 'zod'
import { dateTimeOut, orNull } from './common.ts'

/** Of a whole file, as `sha256sum` tells it. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** A person's yes to what a workspace brings and would otherwise not take effect: to that very content. */
export const Approval = z
  .object({
    sha256: Sha256,
    /** What it was called then: a file, a skill. */
    what: z.string().nullable(),
    approved_at: dateTimeOut,
  })
  .meta({ id: 'Approval' })
export type Approval = z.output<typeof Approval>

export const ApprovalList = z.object({ approvals: z.array(Approval) }).meta({ id: 'ApprovalList' })
export type ApprovalList = z.output<typeof ApprovalList>

export const ApprovalRequest = z.object({ what: orNull(z.string().max(500)) }).meta({ id: 'ApprovalRequest' })
export type ApprovalRequest = z.output<typeof ApprovalRequest>
