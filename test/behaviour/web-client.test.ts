import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebClientConfig, WebClientFeatureFlags } from '../../src/api/web-client.ts'
import { KEY, startIn } from '../support/access.ts'
import { ask } from '../support/hands.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await startIn('key')
})
after(() => server[Symbol.asyncDispose]())

test('a page learns what it has to know before anybody signed in, and nothing of the machine', async () => {
  const { status, body, text } = await ask(server, 'GET', '/api/v1/web-client/config')
  assert.equal(status, 200)
  const strict = WebClientConfig.extend({ feature_flags: WebClientFeatureFlags.strict() }).strict()
  assert.deepEqual(strict.parse(body), body)
  assert.equal(body.app_mode, 'oss')
  assert.equal(body.kind, 'WebClientConfig')
  assert.match(body.updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.ok(Math.abs(Date.now() - Date.parse(body.updated_at)) < 60_000)
  assert.ok(!text.includes(server.data) && !text.includes(KEY))
})

test('a page is told of nothing that this server cannot do', async () => {
  const { body } = await ask(server, 'GET', '/api/v1/web-client/config')
  const { feature_flags: flags } = body
  for (const off of ['enable_billing', 'enable_acp', 'enable_automations', 'enable_jira', 'enable_linear'])
    assert.equal(flags[off], false, off)
  assert.equal(flags.allow_user_llm_configuration, true)
  assert.equal(body.posthog_client_key, null)
  assert.deepEqual([body.providers_configured, body.acp_providers], [[], []])
})

test('the flat generation’s page gets its own form of it, with the key', async () => {
  assert.equal((await ask(server, 'GET', '/api/options/config')).status, 401)
  assert.deepEqual((await ask(server, 'GET', '/api/options/config', { key: KEY })).body, {
    APP_MODE: 'oss',
    GITHUB_CLIENT_ID: '',
    POSTHOG_CLIENT_KEY: '',
    FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
  })
})
