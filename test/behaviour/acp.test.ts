import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { newId } from '../../src/lib/id.ts'
import { appInProcess } from '../support/app.ts'
import { ask } from '../support/hands.ts'
import { anOrder } from '../support/server.ts'

test('the model of an ACP agent cannot be switched where there is none', async () => {
  await using app = await appInProcess()
  const key = readFileSync(app.keyFile!, 'utf8')
  const { id } = (await ask(app, 'POST', '/api/conversations', { key, body: anOrder() })).body
  const switched = (conversation: string, body: object = { model: 'opus' }) =>
    ask(app, 'POST', `/api/conversations/${conversation}/switch_acp_model`, { key, body })
  const { status, body } = await switched(id)
  assert.deepEqual([status, body.code], [400, 'not_acp'])
  assert.match(body.detail, /ACP/)
  assert.equal((await switched(newId())).status, 404)
  assert.equal((await switched(id, {})).status, 422)
})
