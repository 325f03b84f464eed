import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { fault } from '../api/errors.ts'
import { secret } from '../api/secret.ts'
import type {
  SubscriptionDeviceStartResponse,
  SubscriptionModelsResponse,
  SubscriptionStatusResponse,
} from '../api/subscription.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { StoredDocument } from './stored-document.ts'

export interface SubscriptionParts {
  store: Store
  vault: Vault
  fetch: typeof globalThis.fetch
  /** Who gives logins; without one there are none. */
  issuer: string | undefined
}

/** How the vendor's own command-line program is known there: no other is, for this way to log in. */
const CLIENT_ID = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** How long a person may take. */
const LOGIN_MS = 15 * 60_000
/** Logins under way at a time: the oldest makes room. */
const LOGINS = 8
const ANSWER_MS = 15_000

const UserCode = z.object({
  device_auth_id: z.string().min(1),
  user_code: z.string().min(1),
  /** Seconds, in some answers as text. */
  interval: z.coerce.number().min(1).max(60).default(5).catch(5),
})
const Granted = z.object({ authorization_code: z.string().min(1), code_verifier: z.string().min(1) })
const Tokens = z.object({
  access_token: secret().min(1),
  refresh_token: secret().nullish(),
  id_token: secret().nullish(),
  expires_in: z.number().nullish(),
})

interface Login {
  asked: z.output<typeof UserCode>
  endsAt: number
  /** Not asked about before. */
  nextAt: number
  polling: Promise<void> | undefined
}

interface Stored {
  /** Sealed. */
  tokens?: Pick<z.output<typeof Tokens>, 'access_token' | 'refresh_token'>
  account_email?: string | null
  expires_at?: number | null
}

/** A login with a subscription instead of a key. Its tokens are sealed, and told nobody. */
export class Subscription {
  readonly #parts: SubscriptionParts
  readonly #document: StoredDocument<Stored>
  readonly #logins = new Map<string, Login>()

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#document = new StoredDocument<Stored>(parts.store, 'subscription', {})
  }

  /** No model here takes a subscription for a key. */
  models(): SubscriptionModelsResponse {
    return { vendor: 'openai', models: [] }
  }

  async status(): Promise<SubscriptionStatusResponse> {
    return shown(await this.#document.read())
  }

  async start(): Promise<SubscriptionDeviceStartResponse> {
    const { issuer } = this.#parts
    if (issuer === undefined) throw fault('subscription_unavailable')
    const body = JSON.stringify({ client_id: CLIENT_ID })
    const asked = read(UserCode, await this.#ask('/api/accounts/deviceauth/usercode', 'application/json', body))
    const code = randomBytes(24).toString('base64url')
    const endsAt = Date.now() + LOGIN_MS
    const [oldest] = this.#logins.keys()
    if (this.#logins.size >= LOGINS && oldest !== undefined) this.#logins.delete(oldest)
    this.#logins.set(code, { asked, endsAt, nextAt: 0, polling: undefined })
    return {
      device_code: code,
      user_code: asked.user_code,
      verification_uri: `${issuer}/codex/device`,
      verification_uri_complete: null,
      expires_at: endsAt,
      interval_seconds: asked.interval,
    }
  }

  /** Not connected yet: the person has not logged in. */
  async poll(code: string): Promise<SubscriptionStatusResponse> {
    const login = this.#logins.get(code)
    if (!login || login.endsAt < Date.now()) {
      this.#logins.delete(code)
      throw fault('subscription_login_not_found')
    }
    if (!login.polling && login.nextAt <= Date.now()) {
      login.nextAt = Date.now() + login.asked.interval * 1_000
      login.polling = this.#finish(code, login).finally(() => {
        login.polling = undefined
      })
    }
    await login.polling
    return this.status()
  }

  async logout(): Promise<SubscriptionStatusResponse> {
    return shown(await this.#document.update(() => ({})))
  }

  async #finish(code: string, { asked: { device_auth_id, user_code } }: Login): Promise<void> {
    const question = JSON.stringify({ device_auth_id, user_code })
    const answer = await this.#ask('/api/accounts/deviceauth/token', 'application/json', question, [403, 404])
    if (answer === undefined) return
    const { authorization_code, code_verifier } = read(Granted, answer)
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: authorization_code,
      redirect_uri: `${this.#parts.issuer}/deviceauth/callback`,
      client_id: CLIENT_ID,
      code_verifier,
    })
    const given = read(Tokens, await this.#ask('/oauth/token', 'application/x-www-form-urlencoded', form.toString()))
    const { access_token, refresh_token, id_token, expires_in } = given
    const tokens = this.#parts.vault.sealAll(Tokens, { access_token, refresh_token })
    await this.#document.update(() => ({
      tokens,
      account_email: emailIn(id_token),
      expires_at: expires_in ? Date.now() + Math.floor(expires_in * 1_000) : null,
    }))
    this.#logins.delete(code)
  }

  /** What was answered; undefined for one of the statuses that are no answer yet. */
  async #ask(path: string, type: string, body: string, notYet: readonly number[] = []): Promise<unknown> {
    const { fetch, issuer } = this.#parts
    const request = { method: 'POST', headers: { 'Content-Type': type }, body, signal: AbortSignal.timeout(ANSWER_MS) }
    const response = await fetch(`${issuer}${path}`, request).catch(() => {
      throw fault('subscription_failed', 'could not be reached')
    })
    if (notYet.includes(response.status)) {
      await response.body?.cancel()
      return undefined
    }
    if (!response.ok) throw fault('subscription_failed', `answered ${response.status}`)
    return response.json().catch(() => {
      throw fault('subscription_failed', 'gave an answer that is not JSON')
    })
  }
}

function read<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const parsed = z.safeParse(schema, answer)
  if (!parsed.success) throw fault('subscription_failed', 'gave an answer that lacks something')
  return parsed.data
}

const shown = ({ tokens, account_email = null, expires_at = null }: Stored): SubscriptionStatusResponse =>
  tokens
    ? { vendor: 'openai', connected: true, account_email, expires_at }
    : { vendor: 'openai', connected: false, account_email: null, expires_at: null }

/** It is only shown, and came from whom it speaks of: its signature need not be looked at. */
function emailIn(idToken: string | null | undefined): string | null {
  try {
    const claims = JSON.parse(Buffer.from(idToken?.split('.')[1] ?? '', 'base64url').toString())
    return typeof claims.email === 'string' ? claims.email : null
  } catch {
    return null
  }
}
