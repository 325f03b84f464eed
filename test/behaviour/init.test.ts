import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appInProcess } from '../support/app.ts'
import { ask } from '../support/hands.ts'

test('a server that was not started to wait for its configuration has nothing at /api/init', async () => {
  await using app = await appInProcess()
  for (const [method, body] of [['GET'], ['POST', {}], ['POST', { session_api_keys: ['mine'] }]] as const) {
    const answer = await ask(app, method, '/api/init', { ...(body && { body }) })
    assert.deepEqual([answer.status, answer.body.detail], [404, 'Not Found'])
  }
})
