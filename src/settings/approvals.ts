import type { Approval, ApprovalList } from '../api/approvals.ts'
import { fault } from '../api/errors.ts'
import { formatUtc, now } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { StoredDocument } from './stored-document.ts'

/** One document holds them all, and is read whenever one is asked for. */
const APPROVALS = 5_000

/** What a person has approved of what workspaces bring, by the SHA-256 of its very text. */
export class Approvals {
  readonly #document: StoredDocument<Readonly<Record<string, Omit<Approval, 'sha256'>>>>

  constructor(store: Store) {
    this.#document = new StoredDocument(store, 'approvals', {})
  }

  /** The hashes. */
  async all(): Promise<ReadonlySet<string>> {
    return new Set(Object.keys(await this.#document.read()))
  }

  async isApproved(sha256: string): Promise<boolean> {
    return (await this.all()).has(sha256)
  }

  async list(): Promise<ApprovalList> {
    const approvals = Object.entries(await this.#document.read())
    return { approvals: approvals.map(([sha256, approval]) => ({ sha256, ...approval })) }
  }

  async approve(sha256: string, what: string | null): Promise<Approval> {
    const approval = { what, approved_at: formatUtc(now()) }
    await this.#document.update(approvals => {
      const next = { ...approvals, [sha256]: approval }
      if (Object.keys(next).length > APPROVALS) throw fault('approval_limit', APPROVALS)
      return next
    })
    return { sha256, ...approval }
  }

  async withdraw(sha256: string): Promise<void> {
    await this.#document.update(approvals => {
      if (!Object.hasOwn(approvals, sha256)) throw fault('approval_not_found')
      const { [sha256]: _, ...others } = approvals
      return others
    })
  }
}
