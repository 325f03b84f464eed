import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { Subscription } from '../../src/settings/subscription.ts'
import { appInProcess } from '../support/app.ts'
import { ask } from '../support/hands.ts'
import { Listener } from '../support/mcp-http.ts'
import { memoryStore, vault } from '../support/settings.ts'

const idToken = `x.${Buffer.from(JSON.stringify({ email: 'me@example.com' })).toString('base64url')}.x`

/** Who gives logins, in the vendor's manner. */
class Issuer implements AsyncDisposable {
  readonly listener: Listener
  /** Whether the person has entered the code. */
  approved = false
  readonly asked: { path: string; body: string }[] = []
  /** Answered instead. */
  odd: { status: number; body: string } | undefined

  static async start(): Promise<Issuer> {
    const listener: Listener = await Listener.start(async (request, response) => {
      const path = request.url!
      const body = await text(request)
      self.asked.push({ path, body })
      const json = (status: number, answer: object) => response.writeHead(status).end(JSON.stringify(answer))
      if (self.odd) return response.writeHead(self.odd.status).end(self.odd.body)
      if (path === '/api/accounts/deviceauth/usercode')
        return json(200, { device_auth_id: 'their-id', user_code: 'ABCD-1234', interval: '2' })
      if (path === '/api/accounts/deviceauth/token')
        return self.approved
          ? json(200, { authorization_code: 'the-code', code_verifier: 'the-verifier' })
          : json(403, { error: 'pending' })
      const form = new URLSearchParams(body)
      const right = form.get('code') === 'the-code' && form.get('code_verifier') === 'the-verifier'
      if (path !== '/oauth/token' || !right) return json(400, { error: 'invalid_grant' })
      return json(200, { access_token: 'the-access', refresh_token: 'the-refresh', id_token: idToken, expires_in: 60 })
    })
    const self = new Issuer(listener)
    return self
  }

  private constructor(listener: Listener) {
    this.listener = listener
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]()
  }
}

const OUT = { vendor: 'openai', connected: false, account_email: null, expires_at: null }

describe('a login with a subscription', () => {
  const open = (issuer: string) => {
    const store = memoryStore()
    return { store, subscription: new Subscription({ store, vault, fetch, issuer }) }
  }

  test('is asked about until the person has entered the code; its tokens are sealed, told nobody, and forgotten', async t => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    await using issuer = await Issuer.start()
    const { store, subscription } = open(issuer.listener.origin)
    const { device_code, ...told } = await subscription.start()
    assert.deepEqual(told, {
      user_code: 'ABCD-1234',
      verification_uri: `${issuer.listener.origin}/codex/device`,
      verification_uri_complete: null,
      expires_at: 1_000_000 + 900_000,
      interval_seconds: 2,
    })
    assert.notEqual(device_code, 'their-id')
    assert.deepEqual(await subscription.poll(device_code), OUT)
    issuer.approved = true
    assert.deepEqual(await subscription.poll(device_code), OUT, 'not asked again before the interval is over')
    t.mock.timers.tick(2_000)
    const both = await Promise.all([subscription.poll(device_code), subscription.poll(device_code)])
    const connected = { vendor: 'openai', connected: true, account_email: 'me@example.com', expires_at: 1_062_000 }
    assert.deepEqual(both, [connected, connected])
    assert.equal(issuer.asked.filter(({ path }) => path === '/oauth/token').length, 1)
    const kept = store.documents.get('subscription')!.json
    for (const token of ['the-access', 'the-refresh', idToken]) assert.ok(!kept.includes(token))
    const { tokens } = JSON.parse(kept)
    assert.deepEqual(
      [tokens.access_token, tokens.refresh_token].map(one => vault.open(one)),
      ['the-access', 'the-refresh'],
    )
    const reopened = new Subscription({ store, vault, fetch, issuer: issuer.listener.origin })
    assert.deepEqual(await reopened.status(), connected)
    assert.deepEqual(await reopened.logout(), OUT)
    assert.ok(!store.documents.get('subscription')!.json.includes('sealed'))
    await assert.rejects(subscription.poll(device_code), { code: 'subscription_login_not_found' })
  })

  test('ends after a quarter of an hour, and the oldest of too many makes room', async t => {
    t.mock.timers.enable({ apis: ['Date'] })
    await using issuer = await Issuer.start()
    const { subscription } = open(issuer.listener.origin)
    const codes: string[] = []
    for (let i = 0; i < 9; i++) codes.push((await subscription.start()).device_code)
    await assert.rejects(subscription.poll(codes[0]!), { code: 'subscription_login_not_found' })
    assert.deepEqual(await subscription.poll(codes[8]!), OUT)
    t.mock.timers.tick(15 * 60_000 + 1)
    await assert.rejects(subscription.poll(codes[8]!), { code: 'subscription_login_not_found' })
  })

  test('that cannot be had is an error with its reason, and can be tried again', async t => {
    t.mock.timers.enable({ apis: ['Date'] })
    await using issuer = await Issuer.start()
    const { subscription } = open(issuer.listener.origin)
    const { device_code } = await subscription.start()
    issuer.approved = true
    for (const [odd, why] of [
      [{ status: 500, body: '{}' }, /answered 500/],
      [{ status: 200, body: '<html>' }, /not JSON/],
      [{ status: 200, body: '{}' }, /lacks something/],
    ] as const) {
      issuer.odd = odd
      await assert.rejects(subscription.poll(device_code), { code: 'subscription_failed', message: why })
      await assert.rejects(subscription.start(), { code: 'subscription_failed', message: why })
      t.mock.timers.tick(2_000)
    }
    issuer.odd = undefined
    assert.equal((await subscription.poll(device_code)).connected, true)
    await issuer.listener.down()
    await assert.rejects(subscription.start(), { code: 'subscription_failed', message: /could not be reached/ })
  })
})

test('unless somebody is named who gives them, there are no such logins, and no model pretends to take one', async () => {
  await using app = await appInProcess()
  const key = readFileSync(app.keyFile!, 'utf8')
  const path = '/api/llm/subscription/openai'
  const told = (method: string, rest: string, body?: object) =>
    ask(app, method, `${path}${rest}`, { key, ...(body && { body }) })
  assert.deepEqual((await told('GET', '/models')).body, { vendor: 'openai', models: [] })
  assert.deepEqual((await told('GET', '/status')).body, OUT)
  assert.deepEqual((await told('POST', '/logout')).body, OUT)
  const started = await told('POST', '/device/start')
  assert.deepEqual([started.status, started.body.code], [503, 'subscription_unavailable'])
  assert.equal((await told('POST', '/device/poll', { device_code: 'x' })).status, 404)
  assert.equal((await ask(app, 'POST', `${path}/logout`)).status, 401)
})
