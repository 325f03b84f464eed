import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MCPOAuthState, MCPServer } from '../../src/api/mcp.ts'
import { Guarded } from '../support/mcp-login.ts'
import { Conversation } from '../support/mcp-servers.ts'

const HOUR_S = 3_600

function entered(guarded: Guarded, state: Partial<MCPOAuthState> | null): MCPServer {
  const complete = state && {
    tokens: { access_token: 'first', refresh_token: 'renew' },
    client_info: { client_id: 'us', client_secret: 'known' },
    token_expires_at: null,
    ...state,
  }
  return {
    url: guarded.listener.url,
    enabled: true,
    auth: { strategy: 'oauth2', authentication: null, state: complete },
  }
}

describe('MCP servers that need a login', () => {
  test('the token of a login goes with every request, and is left as it is while it is good', async () => {
    await using guarded = await Guarded.start()
    const inAnHour = Date.now() / 1_000 + HOUR_S
    await using conversation = await Conversation.open({ a: entered(guarded, { token_expires_at: inAnHour }) })
    assert.equal(await conversation.said('shout', { text: 'a' }), 'A')
    assert.equal(guarded.renewals.length, 0)
    assert.deepEqual(conversation.tokens, [])
  })

  test('without a login it is named as needing one', async () => {
    await using guarded = await Guarded.start()
    await using conversation = await Conversation.open({ a: entered(guarded, null) })
    assert.match(await conversation.reason('a'), /needs a login/)
    assert.match(conversation.news[0]!, /needs a login/)
  })

  test('an expired token is renewed before it is used, once, and the new ones are told', async () => {
    await using guarded = await Guarded.start()
    guarded.renewable.set('renew', 'second')
    const before = Date.now() / 1_000
    await using conversation = await Conversation.open({ a: entered(guarded, { token_expires_at: before - 1 }) })
    assert.equal(await conversation.said('shout', { text: 'a' }), 'A')
    assert.equal(guarded.renewals.length, 1)
    assert.equal(guarded.renewals[0]!.get('client_id'), 'us')
    assert.equal(guarded.renewals[0]!.get('client_secret'), 'known')
    const [state] = conversation.tokens
    assert.equal(state!.tokens!.access_token, 'second')
    assert.equal(state!.tokens!.refresh_token, 'rotated')
    assert.ok(state!.token_expires_at! >= before + HOUR_S - 1)
  })

  test('a token that is refused is renewed, also in the middle of a conversation', async () => {
    await using guarded = await Guarded.start()
    guarded.renewable.set('renew', 'second')
    await using conversation = await Conversation.open({ a: entered(guarded, {}) })
    await conversation.said('shout', { text: 'a' })
    guarded.valid.clear()
    assert.equal(await conversation.said('shout', { text: 'b' }), 'B')
    assert.equal(conversation.tokens.at(-1)!.tokens!.access_token, 'second')
  })

  test('a login that cannot be renewed is named as needing one', async () => {
    await using guarded = await Guarded.start()
    guarded.valid.clear()
    await using conversation = await Conversation.open({ a: entered(guarded, {}) })
    assert.match(await conversation.reason('a'), /needs a login: the last one cannot be renewed \(invalid_grant\)/)
    await using poor = await Conversation.open({
      a: entered(guarded, { tokens: { access_token: 'first', refresh_token: null } }),
    })
    assert.match(await poor.reason('a'), /needs a login: the last one has expired/)
  })

  test('what renews a login is not given to another issuer than the one it is from', async () => {
    await using guarded = await Guarded.start()
    guarded.valid.clear()
    guarded.renewable.set('renew', 'second')
    const tokens = { access_token: 'first', refresh_token: 'renew', issuer: 'https://login.example' }
    await using conversation = await Conversation.open({ a: entered(guarded, { tokens }) })
    assert.match(await conversation.reason('a'), /needs a login: it now names another issuer/)
    assert.equal(guarded.renewals.length, 0)
  })
})
