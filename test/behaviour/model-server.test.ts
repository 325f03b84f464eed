import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, fail, ModelServer, type Protocol, say } from '../support/model-server.ts'

const PATHS: Record<Protocol, (model: ModelServer, stream: boolean) => string> = {
  chat: model => `${model.openai}/chat/completions`,
  responses: model => `${model.openai}/responses`,
  anthropic: model => `${model.anthropic}/messages`,
  gemini: (model, stream) =>
    `${model.gemini}/models/scripted:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
}

const post = (url: string, body: object) => fetch(url, { method: 'POST', body: JSON.stringify(body) })

for (const protocol of ['chat', 'responses', 'anthropic', 'gemini'] as const)
  for (const stream of [true, false])
    test(`The scripted model says its turn in ${protocol}, ${stream ? 'streamed' : 'whole'}`, async () => {
      await using model = await ModelServer.start([call('look', { where: 'here' }, { text: 'Let me see' })])
      const answer = await post(PATHS[protocol](model, stream), { model: 'scripted', stream })
      const body = await answer.text()
      assert.equal(answer.headers.get('content-type'), stream ? 'text/event-stream' : 'application/json')
      const values = stream
        ? [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!))
        : [JSON.parse(body)]
      assert.ok(values.length >= (stream ? 3 : 1))
      assert.match(body, /Let me see/)
      assert.match(body, /look/)
      assert.equal(model.requests[0]?.protocol, protocol)
      assert.equal(model.requests[0]?.model, 'scripted')
    })

test('A script that is used up says so', async () => {
  await using model = await ModelServer.start([say('once')])
  const url = PATHS.chat(model, false)
  assert.equal((await post(url, {})).status, 200)
  const second = await post(url, {})
  assert.equal(second.status, 500)
  assert.match(await second.text(), /script exhausted/)
})

test('A scripted fault has the words of its provider', async () => {
  await using model = await ModelServer.start(() => fail('quota', { headers: { 'retry-after': '7' } }))
  const openai = await post(PATHS.chat(model, false), {})
  assert.equal(openai.status, 429)
  assert.equal(openai.headers.get('retry-after'), '7')
  assert.match(await openai.text(), /insufficient_quota/)
  const anthropic = await post(PATHS.anthropic(model, false), {})
  assert.equal(anthropic.status, 400)
  assert.match(await anthropic.text(), /credit balance/)
})

test('A cut answer is never whole', async () => {
  await using model = await ModelServer.start([say('all of it', { cut: 'reset' }), say('all of it', { cut: 'end' })])
  const url = PATHS.chat(model, true)
  await assert.rejects(async () => (await post(url, { stream: true })).text())
  assert.doesNotMatch(await (await post(url, { stream: true })).text(), /DONE/)
})

test('Closing the scripted model lets go of those it keeps waiting', async () => {
  const model = await ModelServer.start([say('', { stall: 'before' })])
  const waiting = assert.rejects(post(PATHS.chat(model, true), { stream: true }))
  while (model.count === 0) await new Promise(setImmediate)
  await model.close()
  await waiting
})
