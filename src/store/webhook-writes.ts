import { now } from '../lib/time.ts'
import type { Statements } from './database.ts'
import type { Append, WebhookFailed, WebhookTerms, WebhookTold } from './store.ts'

/** Writes what webhooks are owed, each inside the transaction that the caller has open. */
export class WebhookWrites {
  readonly #sql: Statements
  /** Whether there are any: without, nothing costs anything. Nobody else writes, so it is known once it was looked up. */
  #any: boolean | undefined

  constructor(sql: Statements) {
    this.#sql = sql
  }

  set(webhooks: WebhookTerms[]): true {
    const known = this.#sql.all<{ id: string }>('SELECT id FROM webhooks').map(({ id }) => id)
    for (const id of known.filter(id => !webhooks.some(webhook => webhook.id === id))) {
      this.#sql.run('DELETE FROM webhook_owed WHERE webhook = ?', id)
      this.#sql.run('DELETE FROM webhooks WHERE id = ?', id)
    }
    for (const { id, buffer, delay } of webhooks)
      this.#sql.run(
        `INSERT INTO webhooks (id, buffer, delay, paused, delivered) VALUES (?1, ?2, ?3, 0, 0)
         ON CONFLICT (id) DO UPDATE SET buffer = ?2, delay = ?3`,
        ...[id, buffer, delay],
      )
    this.#sql.run('UPDATE webhook_owed SET due = ?', now())
    this.#any = webhooks.length > 0
    return true
  }

  created(no: number, id: string): void {
    if (!this.#isHeard()) return
    this.#sql.run(
      `INSERT INTO webhook_owed (webhook, conversation, id, seq, news, since, due, tries)
       SELECT id, ?1, ?2, 0, 1, ?3, ?3, 0 FROM webhooks`,
      ...[no, id, now()],
    )
  }

  /**
   * Before the append itself, while what it changes can still be compared. What is tried in vain keeps its time: news do
   * not make a receiver well.
   */
  appended({ no, after, head, status, title }: Append): void {
    if (!this.#isHeard()) return
    this.#sql.run(
      `INSERT INTO webhook_owed (webhook, conversation, id, seq, news, since, due, tries)
       SELECT webhook, no, id, head, news, ?5, ?5 + iif(news OR ?3 - head >= buffer, 0, delay), 0 FROM
         (SELECT w.id AS webhook, buffer, delay, no, c.id, head, status <> ?4 OR ?6 AS news
          FROM webhooks w, conversations c WHERE no = ?1 AND head = ?2)
       WHERE news OR ?3 > head
       ON CONFLICT (webhook, conversation) DO UPDATE SET news = news + excluded.news, due = iif(tries > 0, due,
         min(due, excluded.due, iif(?3 - seq >= (SELECT buffer FROM webhooks w WHERE w.id = webhook), ?5, due)))`,
      ...[no, after, head, status, now(), title === undefined ? 0 : 1],
    )
  }

  /** Without a farewell nobody is told. */
  deleted(no: number, id: string, farewell: string | undefined): void {
    if (!this.#isHeard()) return
    if (farewell === undefined) {
      this.#sql.run('DELETE FROM webhook_owed WHERE conversation = ?', no)
      return
    }
    this.#sql.run(
      `INSERT INTO webhook_owed (webhook, conversation, id, seq, news, since, due, tries, farewell)
       SELECT id, ?1, ?2, 0, 0, ?3, ?3, 0, ?4 FROM webhooks WHERE true
       ON CONFLICT (webhook, conversation) DO UPDATE SET farewell = ?4, due = iif(tries > 0, due, ?3)`,
      ...[no, id, now(), farewell],
    )
  }

  told({ webhook, no, at, seq, news, moreNews, farewell, count }: WebhookTold): true {
    this.#sql.run(
      `UPDATE webhook_owed SET seq = ?3, news = news - ?4 + ?5, tries = 0, due = ?6,
         since = coalesce((SELECT at FROM events WHERE events.conversation = ?2 AND events.seq = ?3 + 1), ?6)
       WHERE webhook = ?1 AND conversation = ?2`,
      ...[webhook, no, seq, news, moreNews, at],
    )
    this.#sql.run(
      `DELETE FROM webhook_owed WHERE webhook = ?1 AND conversation = ?2 AND iif(farewell IS NULL,
         news = 0 AND seq >= coalesce((SELECT head FROM conversations WHERE no = conversation), 0), ?3)`,
      ...[webhook, no, farewell ? 1 : 0],
    )
    this.#sql.run(
      'UPDATE webhooks SET delivered = delivered + ?1, succeeded_at = iif(?1 > 0, ?2, succeeded_at) WHERE id = ?3',
      ...[count, at, webhook],
    )
    return true
  }

  failed({ webhook, no, due, error }: WebhookFailed): true {
    this.#sql.run(
      'UPDATE webhook_owed SET tries = tries + 1, due = ? WHERE webhook = ? AND conversation = ?',
      ...[due, webhook, no],
    )
    this.#sql.run(
      'UPDATE webhooks SET error_at = ?, error = ?, error_status = ? WHERE id = ?',
      ...[error.at, error.message, error.status, webhook],
    )
    return true
  }

  pause(id: string, paused: boolean): true {
    this.#sql.run('UPDATE webhooks SET paused = ? WHERE id = ?', paused ? 1 : 0, id)
    if (!paused) this.#sql.run('UPDATE webhook_owed SET due = ?, tries = 0 WHERE webhook = ?', now(), id)
    return true
  }

  #isHeard(): boolean {
    this.#any ??= this.#sql.get('SELECT 1 FROM webhooks LIMIT 1') !== undefined
    return this.#any
  }
}
