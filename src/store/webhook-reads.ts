import type { Micros } from '../lib/time.ts'
import type { Statements } from './database.ts'
import type { Owed, WebhookDebt, WebhookRecord } from './store.ts'

interface WebhookRow extends Pick<WebhookRecord, 'id' | 'delivered' | 'succeededAt'> {
  paused: number
  errorAt: Micros | null
  message: string | null
  status: number | null
}

/** Reads what webhooks are owed. */
export class WebhookReads {
  readonly #sql: Statements

  constructor(sql: Statements) {
    this.#sql = sql
  }

  all(): WebhookRecord[] {
    const rows = this.#sql.all<WebhookRow>(
      `SELECT id, paused, delivered, succeeded_at AS succeededAt, error_at AS errorAt, error AS message,
         error_status AS status FROM webhooks`,
    )
    return rows.map(({ id, paused, delivered, succeededAt, errorAt, message, status }) => ({
      ...{ id, paused: paused === 1, delivered, succeededAt },
      error: errorAt === null ? null : { at: errorAt, message: message ?? '', status },
    }))
  }

  owed({ webhook, by, limit }: { webhook: string; by: Micros; limit: number }): Owed[] {
    return this.#sql.all<Owed>(
      `SELECT webhook, conversation AS no, o.id, seq, coalesce(c.head, seq) AS head, news, farewell, tries
       FROM webhook_owed o LEFT JOIN conversations c ON c.no = conversation
       WHERE webhook = ?1 AND due <= ?2 AND NOT EXISTS
         (SELECT 1 FROM webhook_owed WHERE webhook = ?1 AND id = o.id AND conversation < o.conversation)
       ORDER BY due, conversation LIMIT ?3`,
      ...[webhook, by, limit],
    )
  }

  debt(webhook: string): WebhookDebt {
    const debt = this.#sql.get<WebhookDebt>(
      `SELECT count(*) AS conversations, count(nullif(tries, 0)) AS failing, min(since) AS oldest
       FROM webhook_owed WHERE webhook = ?`,
      webhook,
    )
    return debt ?? { conversations: 0, failing: 0, oldest: null }
  }
}
